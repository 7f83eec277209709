import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { limits } from '@tributary/contracts/limits'
import type { Trouble } from '@tributary/service-kit/service/health'
import { createApp, createCompany } from '@tributary/tenancy/companies/tenants'
import { openMailer } from '@tributary/tenancy/people/mail/mailer'
import { openTestPostgres, type TestPostgres } from '@tributary/testing/engines/test-postgres'
import { startMailServer } from '@tributary/testing/people/test-mail-server'
import { memoryBroker } from '@tributary/testing/twins/memory-broker'
import { memoryKeyValue } from '@tributary/testing/twins/memory-key-value'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { noticeTargets } from '../src/attention/notices/notice-targets.ts'
import { sendNotices } from '../src/attention/notices/send-notices.ts'
import { masterKeys } from './admin-app.ts'

const minute_ms = 60_000
const day_ms = 86_400_000
/** 06:00 UTC. */
const first_ms = Date.UTC(2026, 5, 1, limits.attention_notice_hour)

/** Requests to the webhook, and its answer. */
const posted: { key: unknown; body: ReturnType<typeof JSON.parse> }[] = []
const answer = { status: 204, headers: {} as Record<string, string> }
const hook = createServer(async (request: IncomingMessage, response) => {
  let text = ''
  for await (const part of request.setEncoding('utf8')) text += part
  posted.push({ key: request.headers['idempotency-key'], body: JSON.parse(text || 'null') })
  response.writeHead(answer.status, answer.headers).end()
})
const mailServer = await startMailServer()
const log: string[] = []
const logger = pino({ level: 'trace' }, { write: (line: string) => void log.push(line) })
const mailer = openMailer({ url: mailServer.url, from: 'tributary@example.com', logger, wait_ms: 1000 })

let db: TestPostgres
let webhook: string
beforeAll(async () => {
  db = await openTestPostgres()
  await new Promise<void>((resolve) => void hook.listen(0, '127.0.0.1', resolve))
  webhook = `http://127.0.0.1:${(hook.address() as AddressInfo).port}/hook?secret=of-the-hook`
})
afterAll(async () => {
  hook.close()
  await mailServer.close()
  await db.close()
})

const clock = { now_ms: first_ms }
/** Last day with events by app. */
const lastDays = new Map<string, string>()
let isAway = false
beforeEach(() => {
  clock.now_ms = first_ms
  Object.assign(answer, { status: 204, headers: {} })
  isAway = false
})
afterEach(async () => {
  lastDays.clear()
  posted.length = 0
  mailServer.received.length = 0
  await db.pool.query('DELETE FROM attention_notices')
})

/** A process that sends notices to these targets; `run` is one run of its job. */
function openProcess({ mails = [], killed }: { mails?: string[]; killed?: 'before it sends' | 'after it sent' } = {}) {
  const now = () => clock.now_ms
  const troubles: (() => readonly Trouble[])[] = []
  const registry = new Registry()
  const settings = {
    TRIBUTARY_ADMIN_URL: 'https://panel.example.com',
    TRIBUTARY_ATTENTION_MAIL: mails,
    TRIBUTARY_ATTENTION_WEBHOOK: webhook,
  }
  const work = sendNotices({
    ...{ pool: db.pool, now, logger, troubles, registry, broker: memoryBroker(1, now), keyValue: memoryKeyValue(now) },
    clickhouse: {
      async query<Row>(sql: string) {
        if (isAway) throw new Error('ClickHouse is away')
        return [...lastDays].flatMap(([app_id, last_day]) =>
          sql.includes(app_id) ? [{ app_id, last_day } as Row] : [],
        )
      },
    },
    status: async () => ({ ready: true, consumers: [], bindings: {} }),
    targets: noticeTargets(settings, mailer).map(({ send, ...target }) => ({
      ...target,
      async send(...notice) {
        if (killed !== 'before it sends') await send(...notice)
        if (killed !== undefined) throw new Error('This process does no more.')
      },
    })),
  })
  return {
    run: (stop = new AbortController().signal) => work(stop),
    troubles: () => troubles.flatMap((look) => look()),
    tries: async (result: string) => {
      const { values } = (await registry.getSingleMetric('tributary_attention_notices_total')!.get()) as {
        values: { value: number; labels: Record<string, unknown> }[]
      }
      return values.filter(({ labels }) => labels.result === result).reduce((sum, { value }) => sum + value, 0)
    },
  }
}

const request = { actor: 'test', request_id: 'r', now_ms: first_ms - 9 * day_ms }
/** An app of a company of its own that has had no event for some days. */
async function silentApp(name: string) {
  const { company_id } = await createCompany(db.pool, { name: 'Acme', plan: 'free' }, request)
  const app = { company_id, name, platform: 'ios' as const }
  const { app_id } = await createApp(db.pool, masterKeys, app, request)
  lastDays.set(app_id, '2026-05-20')
  return { company_id, app_id }
}

test('the list of all companies goes to each target once a UTC day, from the hour on', async () => {
  const [one, other] = [await silentApp('Game'), await silentApp('Game')]
  const { run, tries } = openProcess({ mails: ['ops@example.com', 'ada@example.com'] })
  clock.now_ms = first_ms - 1
  await run()
  expect(posted).toEqual([])
  for (let minute = 0; minute < 3; minute += 1) {
    clock.now_ms = first_ms + minute * minute_ms
    await run()
  }
  expect(posted).toMatchObject([{ key: 'attention-2026-06-01', body: { sent_at_ms: first_ms, unchecked: [] } }])
  const { items } = posted[0]!.body
  expect(items).toHaveLength(2)
  for (const ids of [one, other]) expect(items).toContainEqual(expect.objectContaining({ code: 'app_silent', ...ids }))
  expect(mailServer.received.map(({ to }) => to)).toEqual([['ops@example.com'], ['ada@example.com']])
  const [{ headers, text } = { headers: '', text: '' }] = mailServer.received
  expect(headers).toContain('Subject: Tributary: 2 things need attention')
  expect(headers).toContain('Content-Type: text/plain; charset=utf-8')
  expect(text).toContain(
    `1. Game has had no event since 2026-05-21.\r\n   [app_silent, company ${items[0].company_id}, app ${items[0].app_id}`,
  )
  expect(text).toContain('https://panel.example.com/docs/rules#which-code')
  expect(await tries('sent')).toBe(3)
  clock.now_ms = first_ms + day_ms
  await run()
  expect(posted.map(({ key }) => key)).toEqual(['attention-2026-06-01', 'attention-2026-06-02'])
})

test('nothing is sent while there is nothing to say, and the end of it is said once', async () => {
  const { run } = openProcess({ mails: ['ops@example.com'] })
  const days = async (from: number, to: number) => {
    for (let day = from; day < to; day += 1) {
      clock.now_ms = first_ms + day * day_ms
      await run()
    }
  }
  await days(0, 2)
  expect(posted).toEqual([])
  await silentApp('Game')
  await days(2, 3)
  lastDays.clear()
  await days(4, 6) // no process ran on the day before
  expect(posted.map(({ key, body }) => [key, body.items.length])).toEqual([
    ['attention-2026-06-03', 1],
    ['attention-2026-06-05', 0],
  ])
  expect(mailServer.received).toHaveLength(2)
  expect(mailServer.received[1]!.headers).toContain('Subject: Tributary: nothing needs attention any more')
})

test('of several processes one sends', async () => {
  await silentApp('Game')
  const processes = Array.from({ length: 4 }, () => openProcess({ mails: ['ops@example.com'] }))
  await Promise.all(processes.map(({ run }) => run()))
  await Promise.all(processes.map(({ run }) => run()))
  expect([posted.length, mailServer.received.length]).toEqual([1, 1])
})

test('a webhook that fails is tried again within the hour, shown as a trouble, and hides nothing from the mails', async () => {
  await silentApp('Game')
  const { run, troubles, tries } = openProcess({ mails: ['ops@example.com'] })
  Object.assign(answer, { status: 302, headers: { location: webhook.replace('/hook', '/elsewhere') } })
  for (let minute = 0; minute <= 62; minute += 1) {
    clock.now_ms = first_ms + minute * minute_ms
    await run()
  }
  expect(posted.map(({ key }) => key)).toEqual(Array(limits.attention_notice_tries_max).fill('attention-2026-06-01'))
  expect(mailServer.received).toHaveLength(1)
  expect(await tries('failure')).toBe(limits.attention_notice_tries_max)
  expect(log.join('')).toContain('It answered 302.')
  expect(log.join('')).not.toContain('of-the-hook')
  expect(troubles()).toMatchObject([{ code: 'attention_unsent', refuses: false }])
  answer.status = 500
  clock.now_ms = first_ms + day_ms
  await run()
  const next = mailServer.received.at(-1)!.text
  expect(next).toContain('attention_unsent: The daily notice of 2026-06-01 did not reach TRIBUTARY_ATTENTION_WEBHOOK.')
  Object.assign(answer, { status: 200 })
  clock.now_ms += limits.attention_notice_retry_ms
  await run()
  expect(posted.at(-1)).toMatchObject({ key: 'attention-2026-06-02', body: { items: [{}, {}] } })
  await run()
  expect(troubles()).toEqual([])
})

test.each([
  ['before it sends', 0],
  ['after it sent', 1],
] as const)('a process that is killed %s loses nothing: another tries again, with the same key', async (when, sent) => {
  await silentApp('Game')
  await openProcess({ killed: when }).run()
  expect(posted).toHaveLength(sent)
  lastDays.clear() // what the target may have heard of is over by then
  const { run } = openProcess()
  clock.now_ms += limits.attention_notice_retry_ms - 1
  await run()
  expect(posted).toHaveLength(sent)
  clock.now_ms += 1
  await run()
  await run()
  expect(posted.map(({ key }) => key)).toEqual(Array(sent + 1).fill('attention-2026-06-01'))
  expect(posted.at(-1)!.body.items).toEqual([])
})

test('names of tenants stay one line of plain text, and not a long one', async () => {
  const hostile = `<b>x</b>\r\n.\r\nBcc: eve@example.com\u2028\u202eevil${'y'.repeat(600)}`
  const { app_id } = await silentApp('Game')
  await db.pool.query('UPDATE apps SET name = $2 WHERE app_id = $1', [app_id, hostile])
  await openProcess({ mails: ['ops@example.com'] }).run()
  const [{ headers, text, to } = { headers: '', text: '', to: [] }] = mailServer.received
  expect(to).toEqual(['ops@example.com'])
  expect(headers).toContain('Subject: Tributary: 1 thing needs attention\r\n')
  expect(headers).not.toMatch(/^bcc|html/im)
  expect(text).toContain('1. <b>x</b>  .  Bcc: eve@example.com  evilyyy')
  expect(text).not.toMatch(/^Bcc|[\u2028\u202e]/m)
  const { message } = posted[0]!.body.items[0]
  expect(message).toHaveLength(limits.attention_notice_chars_max)
})

test('what could not be looked at is no good news', async () => {
  const { run } = openProcess({ mails: ['ops@example.com'] })
  await silentApp('Game')
  await run()
  clock.now_ms += day_ms
  isAway = true
  await run()
  expect(mailServer.received.at(-1)!.text).toContain('Could not be looked at: app_silent.')
  expect(mailServer.received.at(-1)!.headers).not.toContain('any more')
})
