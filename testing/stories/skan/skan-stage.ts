import type { PostbackReceived } from '@tributary/contracts/postback/received'
import type { ReportMeta, ReportRow } from '@tributary/contracts/reports'
import { tableNames } from '@tributary/contracts/tables'
import { topics } from '@tributary/contracts/topics'
import { postbackWriter } from '@tributary/postback-writer/postback-writer'
import { reportApi } from '@tributary/report-api/app'
import { runConsumer } from '@tributary/service-kit/consumer/run-consumer'
import { createHttpApp } from '@tributary/service-kit/http/http-app'
import { appIdsAsKeys } from '@tributary/testing/builders'
import type { TestClickhouse } from '@tributary/testing/engines/test-clickhouse'
import { aakPayload, createAppleTwin, production_kid, skanFields } from '@tributary/testing/postback/apple-twin'
import type { StoreApp } from '@tributary/testing/postback/expected-skan-report'
import { writeJson } from '@tributary/testing/postback/json'
import { first_ms } from '@tributary/testing/postback/random-postbacks'
import type { ReceivedPostback } from '@tributary/testing/postback/received'
import { memoryBroker } from '@tributary/testing/twins/memory-broker'
import { memoryKeyValue } from '@tributary/testing/twins/memory-key-value'
import { memoryCvSchemas, memoryStoreApps } from '@tributary/testing/twins/postback-apps'
import pino from 'pino'
import { Registry } from 'prom-client'
import { expect } from 'vitest'

const logger = pino({ level: 'silent' })
export const day = 24 * 3600_000
export const apple = createAppleTwin()
const tables = tableNames.filter((name) => name.startsWith('postback'))

/** An installation without postbacks. A server key is the id of its app. */
export async function makeWorld(clickhouse: TestClickhouse) {
  for (const table of tables) await clickhouse.command(`TRUNCATE TABLE ${table}`)
  const storeApps = memoryStoreApps()
  const cvSchemas = memoryCvSchemas()
  const app = createHttpApp({ logger })
  const shared = { keyValue: memoryKeyValue(Date.now), now: Date.now, registry: new Registry(), logger }
  const fxRates = { find: async () => () => null }
  await app.register(reportApi({ ...shared, clickhouse, credentials: appIdsAsKeys, fxRates, storeApps, cvSchemas }))
  const broker = memoryBroker(1, () => first_ms)
  return {
    storeApps,
    cvSchemas,
    request: (app_id: string, query: Record<string, string | number>) =>
      app.inject({
        url: `/api/v1/reports/skan?${new URLSearchParams(Object.entries(query).map(([name, one]): [string, string] => [name, `${one}`]))}`,
        headers: { authorization: `Bearer ${app_id}` },
      }),
    async rows(app_id: string, query: Record<string, number> = {}) {
      const window = { since_ms: first_ms - 100 * day, until_ms: first_ms + 200 * day, limit: 1000 }
      const answer = await this.request(app_id, { ...window, ...query })
      expect(answer.statusCode, answer.body).toBe(200)
      return answer.json<{ rows: ReportRow<'skan'>[]; meta: ReportMeta }>().rows
    },
    /** Has the writer take them, in batches of `chunk`. */
    async receive(postbacks: readonly ReceivedPostback[], { keys = apple.keys, chunk = 100 } = {}) {
      const records = postbacks.map((postback) => {
        const record: PostbackReceived = { v: 1, content_type: '', audit_key: 'k', ...postback }
        return {
          topic: topics.postbacksReceived.name,
          partition: 0,
          key: null,
          value: Buffer.from(JSON.stringify(record)),
        }
      })
      await broker.publish(records)
      broker.chunk_records_max = chunk
      const consumer = postbackWriter({ clickhouse, postbackKeys: { current: () => keys }, logger })
      const pauses = { first_ms: 1, most_ms: 2 }
      const running = await runConsumer({ broker, consumer, logger, registry: new Registry(), now: Date.now, pauses })
      await expect
        .poll(() => broker.isDone('postback-writer', topics.postbacksReceived.name, 0), {
          timeout: 180_000,
          interval: 1,
        })
        .toBe(true)
      await running.close()
    },
  }
}
type World = Awaited<ReturnType<typeof makeWorld>>

export function register({ storeApps, cvSchemas }: World, { app_id, store_id, development_keys, schemas }: StoreApp) {
  storeApps.add({ app_id, store_id, development_keys })
  for (const version of schemas) cvSchemas.add(app_id, version)
}

export const item = 10_738_027_756
export const ours = { app_id: 'app', store_id: `${item}`, development_keys: false, schemas: [] }

export const skan = (
  changes: Parameters<typeof skanFields>[1],
  received_at_ms: number,
  unsigned: object = {},
): ReceivedPostback => {
  const signed = apple.signSkan('4.0', skanFields('4.0', { 'app-id': item, 'conversion-value': undefined, ...changes }))
  return { protocol: 'skan', body: writeJson({ ...signed, ...unsigned }), received_at_ms }
}
export const aak = (
  changes: Parameters<typeof aakPayload>[0],
  received_at_ms: number,
  kid = production_kid,
): ReceivedPostback => ({
  protocol: 'aak',
  body: apple.signAak(aakPayload({ 'advertised-item-identifier': item, ...changes }), { kid, alg: 'ES256' }),
  received_at_ms,
})
/** The same with a changed signed field. */
export const forged = (one: ReceivedPostback, received_at_ms: number): ReceivedPostback => {
  return { ...one, body: one.body.replace('"fidelity-type":1', '"fidelity-type":0'), received_at_ms }
}
/** A row in short: `<day> <postbacks>/<installs>/<unverified> <fine>`. */
export const short = (rows: ReportRow<'skan'>[]) =>
  rows.map((row) => `${row.day} ${row.postbacks}/${row.installs}/${row.unverified} ${JSON.stringify(row.fine)}`)
