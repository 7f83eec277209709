import type { Ask, SendStep, Step } from '../steps.ts'

/** Time that an operator's change takes to reach every cache. */
const change_ms = 20_000
/** Between two requests: no two are received at the same time. */
const request_ms = 1000

export const second_ms = 1000
export const minute_ms = 60_000
export const hour_ms = 3_600_000
export const day_ms = 24 * hour_ms

type Given = Partial<Omit<SendStep, 'at' | 'send'>>
type Json = Record<string, unknown>

/** Agents of clicks. */
export const agents = {
  pixel:
    'Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.6478.122 Mobile Safari/537.36',
  reduced:
    'Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Mobile Safari/537.36',
  iphone:
    'Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1',
  desktop:
    'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36',
  bot: 'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)',
}

export const android = { os: 'android', os_version: '14', model: 'Pixel 8' }

/** Writes the steps of a history one after the other; the clock goes on by itself. */
export function writeStory(begin: string) {
  const steps: Step[] = []
  const companyOf = new Map<string, string>()
  let now_ms = Date.parse(begin)
  const at = () => new Date(now_ms).toISOString()
  const as = (app: string) => `${companyOf.get(app)}/${app}`

  function send(what: string, given: Given = {}): void {
    now_ms += request_ms
    steps.push({ at: at(), send: what, ...given })
    now_ms += ((given.times ?? 1) - 1) * (given.every_ms ?? 0)
  }
  function admin(what: string, body?: unknown, keep?: Record<string, string>): void {
    const [method, path] = what.split(' ')
    send(`${method} /admin/api/v1${path}`, { ...(body !== undefined && { body }), ...(keep && { keep }) })
    now_ms += change_ms
  }
  const story = {
    steps,
    as,
    now: () => now_ms,
    send,
    admin,
    wait(ms: number) {
      now_ms += ms
    },
    /** Moves the clock to a time, forth or back. */
    until(time: string) {
      now_ms = Date.parse(time)
    },
    company(name: string, more: Json = {}) {
      const keep = { [`${name}.company_id`]: 'company_id', [`${name}.company_key`]: 'company_key' }
      admin('POST /companies', { name, plan: 'unlimited', ...more }, keep)
    },
    /** An app with a server key; `name` is used by `as`, and `name.key` by `key`. */
    app(name: string, company: string, more: Json = {}) {
      admin(
        'POST /apps',
        {
          company_id: `{{${company}.company_id}}`,
          name,
          platform: 'android',
          bundle_id: `com.example.${name}`,
          ...more,
        },
        { [`${name}.app_id`]: 'app_id', [`${name}.app_key`]: 'app_key', [`${name}.signing_secret`]: 'signing_secret' },
      )
      companyOf.set(name, company)
      story.key(`${name}.key`, name)
    },
    key(name: string, app: string, more: Json = {}) {
      admin(
        'POST /keys',
        { app_id: `{{${app}.app_id}}`, label: name, ...more },
        { [name]: 'key', [`${name}.id`]: 'key_id' },
      )
    },
    link(name: string, app: string, more: Json = {}) {
      admin('POST /links', { app_id: `{{${app}.app_id}}`, partner: 'acme', ...more }, { [name]: 'link_id' })
    },
    /** A signed batch of an SDK; `sent_at_ms` is right unless it is given. */
    batch(app: string, events: Json[], { body = {}, ...given }: Omit<Given, 'body'> & { body?: Json } = {}) {
      send('POST /event', { as: as(app), body: { sent_at_ms: now_ms + request_ms, events, ...body }, ...given })
    },
    /** The first start of the app on a phone. */
    install(app: string, install_uuid: string, more: Json & { given?: Omit<Given, 'body'> } = {}) {
      const { given = {}, ...fields } = more
      const event = {
        event_id: `i-${install_uuid}`,
        event_name: 'app_install',
        install_uuid,
        device: android,
        ...fields,
      }
      story.batch(app, [{ event_ts_ms: now_ms, ...event }], given)
    },
    event(key: string, event: Json, given: Given = {}) {
      send('POST /s2s/event', { key, body: { event_ts_ms: now_ms, ...event }, ...given })
    },
    bulk(key: string, events: Json[], given: Given = {}) {
      send('POST /s2s/events/bulk', { key, body: { events }, ...given })
    },
    click(link: string, given: Given & { query?: string; keep_click?: string } = {}) {
      const { query = '', ...more } = given
      send(`GET /l/{{${link}}}${query}`, { agent: agents.pixel, ip: '203.0.113.7', ...more })
    },
    settle() {
      now_ms += request_ms
      steps.push({ at: at(), settle: 'written' })
    },
    jobs() {
      now_ms += request_ms
      steps.push({ at: at(), settle: 'jobs' })
    },
    figures() {
      now_ms += request_ms
      steps.push({ at: at(), figures: true })
    },
    erase() {
      now_ms += request_ms
      steps.push({ at: at(), erase: true })
    },
    restart() {
      now_ms += request_ms
      steps.push({ at: at(), restart: true })
    },
    ask(ask: Ask) {
      now_ms += 2 * minute_ms
      steps.push({ at: at(), ask })
      now_ms += 2 * minute_ms
    },
  }
  return story
}

export type Story = ReturnType<typeof writeStory>
