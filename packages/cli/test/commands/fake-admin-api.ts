import { onTestFinished } from 'vitest'
import { type Received, type Reply, startService } from '../fake-service.ts'

/** The admin token that the fake service takes. */
export const token = 'a-token-of-the-admin-of-this-test'
/** A company whose name holds a control character. */
export const company = {
  company_id: 'co_1',
  company_key: 'co_live_1',
  name: 'Air\u001b[31m line',
  plan: 'free',
  monthly_quota: 1_000_000,
  ...{ keep_ip_days: 30, keep_click_days: 90, keep_raw_days: null },
  status: 'active',
  created_at_ms: 5,
}
/** A consumer that has no lag. */
export const idle = { name: 'event-writer', topic: 'events.accepted.v1', lag: 0, oldest_unwritten_ms: null }
/** The status of a service that is well. */
export const ready = { ready: true, consumers: [idle], bindings: { database: { status: 'ok', latency_ms: 1 } } }

type Routes = Record<string, (request: Received) => Reply | Promise<Reply>>

/** The routes that every fake service has. */
const well: Routes = {
  'GET /admin/api/v1/status': () => ({ status: 200, body: ready }),
}

/** The settings of a command for a fake service with these routes; it ends with the test. */
export async function service(routes: Routes) {
  const started = await startService((request) => {
    const route = { ...well, ...routes }[`${request.method} ${request.path}`]
    if (request.path.startsWith('/admin') && request.headers.authorization !== `Bearer ${token}`) {
      return { status: 401, body: { error: 'invalid_admin_token' } }
    }
    return route?.(request) ?? { status: 404, body: { error: 'not_found' } }
  })
  onTestFinished(() => started.close())
  return { TRIBUTARY_URL: started.url, TRIBUTARY_ADMIN_TOKEN: token }
}

/** The JSON body of a request. */
export const sent = ({ body }: Received) => JSON.parse(body.toString())
