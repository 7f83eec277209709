/** An app with the credentials of its clients. */
export interface FuzzApp {
  app_id: string
  company_id: string
  company_key: string
  app_key: string
  signing_secret: string
  server_keys: string[]
  /** Key that reads the report at the end. */
  report_key: string
}

export interface FuzzTenants {
  admin_token: string
  /** App of mutated requests that are one HTTP request with one answer: their accepted events are known exactly. */
  mutated: FuzzApp
  /** App of ordinary requests. */
  valid: FuzzApp
  /** App of requests whose answer may belong to another request, or may never come. */
  broken: FuzzApp
  /** Their events are never accepted: the first company is suspended, the quota of the second is used up. */
  suspended: FuzzApp
  spent: FuzzApp
  revoked_key: string
  /** A link, one whose company is suspended, and a honeypot. */
  link_ids: string[]
  /** A company and a key for the admin API to suspend, reinstate and revoke. */
  victim: { company_id: string; key_id: string }
}

type Admin = <Answer>(path: string, body?: unknown) => Promise<Answer>

/** Calls the admin API with POST; throws for any other answer than 200. */
export const adminApi =
  (url: string, admin_token: string): Admin =>
  async <Answer>(path: string, body: unknown = {}) => {
    const headers = { authorization: `Bearer ${admin_token}` }
    const answer = await fetch(`${url}/admin/api/v1${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
    const text = await answer.text()
    if (answer.status !== 200) throw new Error(`${path} answered ${answer.status} ${text}`)
    return JSON.parse(text) as Answer
  }

/** A fast run needs many keys, because a key allows 1000 requests a minute. */
const keys_of_mutated = 60

/** Companies, apps and keys of a run, made through the admin API. */
export async function makeFuzzTenants(url: string, admin_token: string): Promise<FuzzTenants> {
  const admin = adminApi(url, admin_token)
  const company = (name: string, monthly_quota?: number) =>
    admin<Pick<FuzzApp, 'company_id' | 'company_key'>>('/companies', { name, plan: 'unlimited', monthly_quota })
  const app = async (owner: Pick<FuzzApp, 'company_id' | 'company_key'>, keys: number): Promise<FuzzApp> => {
    const input = { company_id: owner.company_id, name: 'Fuzz', platform: 'android' }
    const made = await admin<Pick<FuzzApp, 'app_id' | 'app_key' | 'signing_secret'>>('/apps', input)
    const server_keys: string[] = []
    for (let n = 0; n <= keys; n += 1) {
      const allowed_events = n % 10 === 9 ? ['level_up', 'purchase'] : []
      server_keys.push((await makeKey(admin, made.app_id, allowed_events)).key)
    }
    return { ...owner, ...made, server_keys: server_keys.slice(1), report_key: server_keys[0]! }
  }
  const own = await company('Fuzz')
  const suspended = await company('Suspended')
  const [mutated, valid, broken, quiet, spent] = await Promise.all([
    app(own, keys_of_mutated),
    app(await company('Valid'), 8),
    app(own, 4),
    app(suspended, 2),
    app(await company('Spent', 0), 2),
  ])
  const link_ids = [
    await makeLink(admin, own.company_id),
    await makeLink(admin, suspended.company_id),
    await makeLink(admin, (await company('Trapped')).company_id, true),
  ]
  await admin(`/companies/${suspended.company_id}/suspend`)
  const { key, key_id } = await makeKey(admin, mutated.app_id, [])
  await admin(`/keys/${key_id}/revoke`)
  const victim = { company_id: (await company('Victim')).company_id, key_id }
  return { admin_token, mutated, valid, broken, suspended: quiet, spent, revoked_key: key, link_ids, victim }
}

const makeKey = (admin: Admin, app_id: string, allowed_events: string[]) =>
  admin<{ key: string; key_id: string }>('/keys', { app_id, label: 'fuzz', allowed_events })

/** Makes a link of a new app of the company, and returns its id. */
export async function makeLink(admin: Admin, company_id: string, honeypot = false): Promise<string> {
  const app = { company_id, name: 'Linked', platform: 'android', bundle_id: 'com.example.linked' }
  const { app_id } = await admin<{ app_id: string }>('/apps', app)
  return (await admin<{ link_id: string }>('/links', { app_id, partner: 'net', honeypot })).link_id
}
