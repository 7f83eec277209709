import { randomUUID } from 'node:crypto'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import type { Decision } from '@tributary/contracts/attribution/decision'
import type { InstallFact } from '@tributary/contracts/attribution/found'
import { consumers } from '@tributary/contracts/consumers'
import { attribute } from '@tributary/domain/attribute/attribute'
import { openGeo } from '@tributary/geo/open-geo'
import { installWriter } from '@tributary/install-writer/install-writer'
import { runConsumer } from '@tributary/service-kit/consumer/run-consumer'
import { factColumns, factLine } from '@tributary/tables/attribution/facts'
import { decisionRecord } from '@tributary/tables/attribution/records'
import { openTestClickhouse, type TestClickhouse } from '@tributary/testing/engines/test-clickhouse'
import { openTestPostgres, type TestPostgres } from '@tributary/testing/engines/test-postgres'
import { memoryBroker } from '@tributary/testing/twins/memory-broker'
import pino from 'pino'
import { Registry } from 'prom-client'
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { countriesJob } from '../../src/jobs/countries.ts'
import { click, day_ms, hour_ms, install, t0, token } from '../model/story.ts'

let clickhouse: TestClickhouse
let postgres: TestPostgres
beforeAll(async () => {
  ;[clickhouse, postgres] = await Promise.all([openTestClickhouse(), openTestPostgres()])
})
afterAll(() => Promise.all([clickhouse.close(), postgres.close()]))

const geo = await openGeo()
const german = '193.99.144.80'
const { topic } = consumers.installWriter
const logger = pino({ level: 'silent' })

let app_id = ''
const clock = { ms: t0 + 2 * day_ms }
const now = () => clock.ms
let broker = memoryBroker(1, now)

beforeEach(async () => {
  app_id = randomUUID()
  broker = memoryBroker(1, now)
  await postgres.pool.query('DELETE FROM upgrade_jobs')
  await clickhouse.command('TRUNCATE TABLE install_facts_v1')
})

const job = (using: Partial<Clickhouse> = {}) =>
  countriesJob({ clickhouse: { ...clickhouse, ...using }, broker, postgres: postgres.pool, geo, now })

const factOf = (n: number, ip: string | null): InstallFact => ({ ...install(n, { ip, named_click: token(1) }), app_id })
/** A decision by a gateway that looked up no country, with a click that has an ad group. */
const decisionOf = (fact: InstallFact, offset: number, given: Partial<Decision> = {}): Decision => ({
  ...attribute({
    ...{ install: fact, clicks: [click(1, { ad_group: 'g' })], claims: new Map(), others: [], newest: null },
    ...{ windows: { click_hours: 720, probabilistic_hours: null, reinstall_days: 90 }, crowds: new Map() },
    ...{ isErasedClick: () => false, isFlooded: () => false, datacenter: false, blocked: false },
    ...{ neighbours_before: 0, clicks_deleted_before_ms: 0, now_ms: now() },
  }),
  ...{ decided_at_ms: t0 + offset, decided_at: { log: 'installs.found.v1@a', offset, try: 1 } },
  ...given,
})

const storeFacts = (...facts: InstallFact[]) =>
  clickhouse.insert({
    ...{ table: 'install_facts_v1', columns: factColumns, token: randomUUID() },
    lines: facts.map(factLine).join('\n'),
  })
const publish = (...decisions: Decision[]) => broker.publish(decisions.map((one) => decisionRecord(one, 1)))
const published = () => broker.records(topic.name, 0).length

/** Lets install-writer write what the log holds. */
async function written() {
  const writer = installWriter({ clickhouse, logger, now })
  const running = await runConsumer({ broker, consumer: writer, logger, registry: new Registry(), now })
  await vi.waitFor(() => expect(broker.isDone(consumers.installWriter.name, topic.name, 0)).toBe(true), 60_000)
  await running.close()
}

/** Installs by country and ad group, summed over all rows; each sum is that of the rows that count. */
const counted = async () => {
  const rows = await clickhouse.query<{ key: string; signs: number }>(
    `SELECT concat(install_uuid, ' ', country, ' ', ad_group) AS key, sum(sign) AS signs FROM installs_v1 FINAL
     WHERE app_id = '${app_id}' GROUP BY key HAVING signs != 0 ORDER BY key`,
  )
  return rows.map(({ key, signs }) => `${key} ${signs}`)
}
const countriesOfFacts = async () => {
  const rows = await clickhouse.query<{ country: string }>(
    `SELECT JSONExtractRaw(fact, 'country') AS country FROM install_facts_v1 FINAL WHERE app_id = '${app_id}' ORDER BY install_uuid`,
  )
  return rows.map(({ country }) => country)
}

test('what still has an address gets its country once, in its fact and in its verdict, and sums stay exact', async () => {
  const facts = [factOf(1, german), factOf(2, '10.0.0.1'), factOf(3, null), { ...factOf(4, german), country: 'FR' }]
  await storeFacts(...facts)
  await publish(...facts.map((fact, n) => decisionOf(fact, n)))
  await written()
  const run = job()
  await run()
  await written()
  expect(await countriesOfFacts()).toEqual(['"DE"', '""', '', '"FR"'])
  expect(await counted()).toEqual(['i1 DE g 1', 'i2  g 1', 'i3  g 1', 'i4 FR g 1'])
  const rows = published()
  // It goes on until a pass a day later finds nothing, and never begins again: not in another process either.
  for (let hour = 0; hour < 26; hour += 1) {
    clock.ms += hour_ms
    await run()
  }
  await storeFacts(factOf(5, german))
  await publish(decisionOf(factOf(5, german), 9))
  await written()
  await job()()
  await written()
  expect(published()).toBe(rows + 1)
  expect(await counted()).toContain('i5  g 1')
})

test('a decision that was made meanwhile has the country, whether it lands before the filling record or after it', async () => {
  const [before, after] = [factOf(1, german), factOf(2, german)]
  await storeFacts(before, after)
  await publish(decisionOf(before, 1), decisionOf(after, 2))
  await written()
  await publish(decisionOf(before, 3, { rule_version: 1 }))
  await job()()
  await publish(decisionOf(after, 4, { rule_version: 1 }))
  await written()
  expect(await counted()).toEqual(['i1 DE g 1', 'i2 DE g 1'])
})

test('a job that died between its steps is done by the next run, and changes nothing twice', async () => {
  await storeFacts(factOf(1, german))
  await publish(decisionOf(factOf(1, german), 1))
  await written()
  const dying = job({ insert: () => Promise.reject(new Error('killed')) })
  await expect(dying()).rejects.toThrow('killed')
  await job()()
  await written()
  expect(await countriesOfFacts()).toEqual(['"DE"'])
  expect(await counted()).toEqual(['i1 DE g 1'])
  expect(await clickhouse.query(`SELECT count() AS rows FROM installs_v1 FINAL WHERE app_id = '${app_id}'`)).toEqual([
    { rows: 3 },
  ])
})

test('an install without a decision waits for a later pass', async () => {
  await storeFacts(factOf(1, german))
  const run = job()
  await run()
  expect(await countriesOfFacts()).toEqual([''])
  await publish(decisionOf(factOf(1, german), 1))
  await written()
  clock.ms += hour_ms
  await run()
  await written()
  expect(await counted()).toEqual(['i1 DE g 1'])
})
