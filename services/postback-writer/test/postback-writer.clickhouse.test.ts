import { randomUUID } from 'node:crypto'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { limits } from '@tributary/contracts/limits'
import { deadLetterTopic, topics } from '@tributary/contracts/topics'
import { openTestClickhouse, type TestClickhouse } from '@tributary/testing/engines/test-clickhouse'
import { aakPayload, skanFields } from '@tributary/testing/postback/apple-twin'
import { writeJson } from '@tributary/testing/postback/json'
import { roundsOf } from '@tributary/testing/rounds'
import { fragileClickhouse } from '@tributary/testing/twins/fragile-clickhouse'
import type { MemoryBroker } from '@tributary/testing/twins/memory-broker'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { postbackWriter } from '../src/postback-writer.ts'
import {
  apple,
  beatenPlaces,
  day,
  isDone,
  makeLog,
  newItem,
  noon,
  publishPostbacks,
  receivedOf,
  runToEnd,
  startWriter,
  until,
} from './stage.ts'

const topic = topics.postbacksReceived.name

let clickhouse: TestClickhouse
beforeAll(async () => {
  clickhouse = await openTestClickhouse()
})
afterAll(() => clickhouse.close())

const skan = (changes: Parameters<typeof skanFields>[1] = {}, received_at_ms = noon) => {
  const fields = apple.signSkan('4.0', skanFields('4.0', changes))
  return { id: `${fields['transaction-id']}`, received: receivedOf('skan', writeJson(fields), received_at_ms) }
}

/** What the tables hold of an advertised item, read as a reader does. */
async function stored(item: number) {
  const [decoded, claims, beaten] = await Promise.all([
    clickhouse.query<Record<string, unknown>>(
      'SELECT * EXCEPT (postback_key) FROM postbacks_decoded_v1 FINAL WHERE advertised_item_id = {item:UInt64} ORDER BY partition, offset',
      { item },
    ),
    clickhouse.query<{ place: string }>(
      `SELECT DISTINCT concat(toString(partition), '/', toString(offset)) AS place FROM postback_claims_v1 FINAL
       WHERE postback_key IN (SELECT postback_key FROM postbacks_decoded_v1 WHERE advertised_item_id = {item:UInt64}) ORDER BY place`,
      { item },
    ),
    beatenPlaces(clickhouse, item),
  ])
  return { decoded, claims: claims.map(({ place }) => place), beaten }
}

const rawBodies = async (like: string) =>
  (
    await clickhouse.query<{ body: string }>(
      'SELECT body FROM postbacks_raw_v1 FINAL WHERE position(body, {like:String}) > 0 ORDER BY partition, offset',
      { like },
    )
  ).map(({ body }) => body)

test('a postback is stored as it came and as it says, and what it does not say is null', async () => {
  const item = newItem()
  const log = makeLog()
  const full = skan({ 'app-id': item, 'source-app-id': item + 1, 'conversion-value': 0, country: 'DE' })
  const bare = apple.signAak(aakPayload({ 'advertised-item-identifier': item, 'did-win': undefined }))
  await publishPostbacks(log, [full, { id: full.id, received: receivedOf('aak', bare) }])
  await runToEnd(clickhouse, log)
  const { decoded } = await stored(item)
  expect(decoded).toEqual([
    expect.objectContaining({
      ...{ protocol: 'skan', verdict: 'valid', reason: 'verified', environment: 'production', key: 'skan-p256' },
      ...{ version: '4.0', postback_id: full.id, sequence_index: 0, source: '5239', did_win: 1, redownload: 0 },
      ...{ fine: 0, coarse: null, fidelity_type: 1, judged_by: apple.keys.fingerprint, received_at_ms: noon },
      publisher_item_id: item + 1,
      topic: expect.stringMatching(/^postbacks\.received\.v1@./),
    }),
    expect.objectContaining({ protocol: 'aak', version: '', fine: null, coarse: null, did_win: null, country: null }),
  ])
  expect(await rawBodies(full.id)).toEqual([full.received.body])
})

test('postbacks that strangers make up are stored as invalid, whatever is in them', async () => {
  const log = makeLog()
  const item = newItem()
  const strange = [
    '{}',
    '[]',
    'no JSON',
    `{"app-id":${item},"transaction-id":"\\ud800 \\u0000 lone","ad-network-id":"'; --","version":"4.0"}`,
    `{"app-id":18446744073709551616,"version":"4.0"}`,
    `{"app-id":99999999999999999999,"version":"4.0"}`,
    `{"version":"77.0","app-id":${item}}`,
  ]
  await publishPostbacks(
    log,
    strange.map((body) => ({ id: 'one', received: receivedOf('skan', body) })),
  )
  await publishPostbacks(log, [{ id: 'one', received: receivedOf('aak', 'a.b.c') }])
  await runToEnd(clickhouse, log)
  expect(log.records(deadLetterTopic(topics.postbacksReceived).name, 0)).toEqual([])
  const { decoded, claims } = await stored(item)
  expect(decoded.map(({ verdict }) => verdict)).toEqual(['invalid', 'unverifiable'])
  expect(claims).toEqual([])
})

/** Where each record is that a broker holds. */
const placesOf = (broker: MemoryBroker): string[] =>
  [0, 1].flatMap((n) => broker.records(topic, n).map(({ offset }) => `${n}/${offset}`)).toSorted()

test('crashes after any step, failures and other cuts leave each postback once in every table', async () => {
  const life = fc.record({ points: fc.integer({ min: 0, max: 16 }), chunk: fc.integer({ min: 1, max: 6 }) })
  const plan = fc.record({
    ids: fc.array(fc.constantFrom('a', 'b', 'c', 'd'), { minLength: 1, maxLength: 10 }),
    lives: fc.array(life, { maxLength: 5 }),
    chunk: fc.integer({ min: 1, max: 6 }),
  })
  await fc.assert(
    fc.asyncProperty(plan, async ({ ids, lives, chunk }) => {
      const item = newItem()
      const log = makeLog()
      const run = randomUUID()
      const postbacks = ids.map((id) => skan({ 'app-id': item, 'transaction-id': `${run}-${id}` }))
      await publishPostbacks(log, postbacks)
      for (const { points, chunk: chunk_records_max } of lives) {
        log.chunk_records_max = chunk_records_max
        let left = points
        const crash = () => {
          if (left-- <= 0) throw new Error('crash')
        }
        const fragile = fragileClickhouse(clickhouse, crash)
        const running = await startWriter(fragile, log, { step: crash, crash })
        await until(() => left < 0 || isDone(log))
        await running.close()
      }
      log.chunk_records_max = chunk
      await runToEnd(clickhouse, log)
      const { decoded, claims, beaten } = await stored(item)
      expect(decoded.map(({ partition, offset }) => `${partition}/${offset}`).toSorted()).toEqual(placesOf(log))
      expect(claims).toEqual(placesOf(log))
      const first = Map.groupBy(decoded, ({ postback_id }) => postback_id)
      const winners = [...first.values()].map(([one]) => `${one!.partition}/${one!.offset}`)
      expect(beaten).toEqual(placesOf(log).filter((place) => !winners.includes(place)))
      expect((await rawBodies(run)).toSorted()).toEqual(postbacks.map(({ received }) => received.body).toSorted())
    }),
    { numRuns: roundsOf(15) },
  )
})

test('an insert that failed between the table and its views is completed in all of them', async () => {
  const item = newItem()
  const log = makeLog()
  await publishPostbacks(log, [skan({ 'app-id': item }), skan({ 'app-id': item })])
  const view = `broken_${item}_mv`
  await clickhouse.command(
    `CREATE MATERIALIZED VIEW ${view} ENGINE = Null AS SELECT throwIf(countIf(advertised_item_id = ${item}) > 0) FROM postbacks_decoded_v1`,
  )
  let failures = 0
  const counting: Clickhouse = {
    ...clickhouse,
    insert: (block) =>
      clickhouse.insert(block).catch((error) => {
        failures += 1
        throw error
      }),
  }
  const running = await startWriter(counting, log)
  await until(() => failures > 1)
  await clickhouse.command(`DROP VIEW ${view} SYNC`)
  await until(() => isDone(log))
  await running.close()
  const { decoded, claims } = await stored(item)
  expect(decoded).toHaveLength(2)
  expect(claims).toEqual(placesOf(log))
})

test('an engine that was put back to an earlier state gets the lost postbacks again', async () => {
  const item = newItem()
  const log = makeLog()
  const same = { 'app-id': item, 'transaction-id': randomUUID() }
  for (const received_at_ms of [noon, noon + 1]) {
    await publishPostbacks(log, [skan(same, received_at_ms)])
    await runToEnd(clickhouse, log)
  }
  for (const table of ['postbacks_raw_v1', 'postbacks_decoded_v1', 'postback_claims_v1']) {
    await clickhouse.command(`DELETE FROM ${table} WHERE received_at_ms = ${noon + 1}`)
  }
  await publishPostbacks(log, [skan(same, noon + 2)])
  await runToEnd(clickhouse, log)
  const { decoded } = await stored(item)
  const received = new Set(decoded.map(({ received_at_ms }) => received_at_ms))
  expect([...received].toSorted()).toEqual([noon, noon + 1, noon + 2])
})

test('a last row that retention has deleted tells of no table that was put back', async () => {
  const now = () => noon
  const { findMisfit } = postbackWriter({ clickhouse, postbackKeys: { current: () => apple.keys }, now })
  const source = `${topic}@${randomUUID()}`
  const received = (days: number, proven: boolean) => {
    const on = new Date(noon - days * day).toISOString().slice(0, 10)
    const last = { topic: source, partition: 0, offset: 7, day: on, proven }
    return { source, partition: 0, state: { last }, open_to: null }
  }
  const { postback_unproven_days_max: kept } = limits
  const lacks = { reason: 'tables_lack_rows', reread: true }
  expect(await findMisfit?.(received(kept + 1, false))).toBeNull()
  expect(await findMisfit?.(received(kept - 2, false))).toEqual(lacks)
  expect(await findMisfit?.(received(kept + 1, true))).toEqual(lacks) // a valid one stays for ever
})
