import { randomUUID } from 'node:crypto'
import { type Browser, peopleWorld } from '@tributary/admin-api/test/people-world'
import { reportsBeside } from '@tributary/admin-api/test/reports-beside'
import { reportNames } from '@tributary/contracts/reports'
import { openTestClickhouse, type TestClickhouse, testEventRow } from '@tributary/testing/engines/test-clickhouse'
import { afterAll, beforeAll, expect, test } from 'vitest'

const noon = Date.UTC(2026, 4, 20, 12)
const hour_ms = 3600 * 1000
let clickhouse: TestClickhouse
const world = peopleWorld({}, (deps) =>
  reportsBeside(deps, {
    query: (...given) => clickhouse.query(...given),
    stream: (...given) => clickhouse.stream(...given),
  }),
)
let app_id: string
let analyst: Browser

beforeAll(async () => {
  clickhouse = await openTestClickhouse()
  const made = await world.newApp()
  app_id = made.app_id
  analyst = await world.signedIn('analyst', made.company_id)
  const money = { event_name: 'purchase', revenue_micros: '5000000', revenue_counts: 1 as const, currency: 'USD' }
  await clickhouse.insertEvents(
    [
      testEventRow({ app_id, install_uuid: 'i-1', ts_ms: noon, event_name: 'app_install', user_id: 'ana' }),
      testEventRow({ app_id, install_uuid: 'i-1', ts_ms: noon + hour_ms, ...money }),
      testEventRow({ app_id: 'app_other', install_uuid: 'i-1', ts_ms: noon }),
    ],
    randomUUID(),
  )
})
afterAll(() => clickhouse.close())

/** An answer without what differs from request to request. */
const settled = (text: string) =>
  text.replace(/"elapsed_ms":\d+/, '"elapsed_ms":0').replace(/"request_id":"[^"]+"/, '"request_id":""')

/** The answer to a server key of the app. */
async function ofKey(path: string, headers: Record<string, string> = {}) {
  const answer = await world.injectAt(`/api/v1${path}`, { headers: { ...headers, authorization: `Bearer ${app_id}` } })
  return { status: answer.statusCode, text: settled(answer.payload), etag: answer.headers.etag }
}
async function ofPerson(path: string, headers: Record<string, string> = {}) {
  const { status, text, headers: answered } = await analyst.ask('GET', `/apps/${app_id}${path}`, undefined, { headers })
  return { status, text: settled(text), etag: answered.etag }
}

const window = `since_ms=${noon - 24 * hour_ms}&until_ms=${noon + 48 * hour_ms}`
test.each([
  ...reportNames.flatMap((name) => [`/reports/${name}?${window}`, `/reports/${name}?${window}&format=csv&group=week`]),
  `/reports/events?${window}&event_name=purchase&limit=1`,
  ...['/reports/events?since=1', '/reports/events?limit=0', '/reports/skan?partner=x', '/reports/nothing'],
  ...['/installs/i-1', '/installs/nobody', '/installs/%21'],
])('%s is to a person what it is to a key, byte by byte', async (path) => {
  expect(await ofPerson(path)).toEqual(await ofKey(path))
})

test('an answer that did not change is 304 to people too, and no cache keeps what a session shows', async () => {
  const path = `/reports/events?${window}`
  const { etag, text } = await ofPerson(path)
  expect(JSON.parse(text).rows).toMatchObject([{ event_name: 'app_install' }, { event_name: 'purchase' }])
  expect(await ofPerson(path, { 'if-none-match': String(etag) })).toMatchObject({ status: 304, text: '' })
  const { headers } = await analyst.ask('GET', `/apps/${app_id}${path}`)
  expect(headers['cache-control']).toBe('no-store')
})
