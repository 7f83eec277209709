import { generateKeyPairSync, randomUUID } from 'node:crypto'
import { limits } from '@tributary/contracts/limits'
import { postbackKeys } from '@tributary/domain/postback/keys'
import { openTestClickhouse, type TestClickhouse } from '@tributary/testing/engines/test-clickhouse'
import { aakPayload, signJws, skanFields } from '@tributary/testing/postback/apple-twin'
import { writeJson } from '@tributary/testing/postback/json'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { markAllBeaten } from '../src/beaten-claims.ts'
import { judgeAgain } from '../src/judge-again.ts'
import {
  apple,
  beatenPlaces,
  day,
  makeLog,
  newItem,
  noon,
  publishPostbacks,
  receivedOf,
  runToEnd,
  startWriter,
} from './stage.ts'

let clickhouse: TestClickhouse
beforeAll(async () => {
  clickhouse = await openTestClickhouse()
})
afterAll(() => clickhouse.close())

const stranger = generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
const kid = 'next-year/0'
/** What the process knows once the key of the stranger is published. */
const nextYear = postbackKeys(
  apple.keys.skan,
  new Map([...apple.keys.aak, [kid, { environment: 'production', key: stranger.publicKey }]]),
)
const noVersions = postbackKeys(new Map(), new Map())

const aak = (item: number, received_at_ms: number, id = randomUUID()) => {
  const payload = aakPayload({ 'advertised-item-identifier': item, 'postback-identifier': id })
  const jws = signJws(writeJson({ alg: 'ES256', kid }), writeJson(payload), stranger.privateKey)
  return { id, received: receivedOf('aak', jws, received_at_ms) }
}

async function write(postbacks: Parameters<typeof publishPostbacks>[1], keys = apple.keys) {
  const log = makeLog()
  await publishPostbacks(log, postbacks)
  await runToEnd(clickhouse, log, { keys })
}

/** One look of a new process at a time; `keys` are those that it knows. */
const look = (keys = nextYear, at_ms = noon) =>
  judgeAgain({
    clickhouse,
    postbackKeys: { current: () => keys, refresh: async () => {} },
    now: () => at_ms,
  })(new AbortController().signal)

const judgements = (item: number) =>
  clickhouse.query<{ verdict: string; received_at_ms: number; judged_at_ms: number }>(
    `SELECT verdict, received_at_ms, judged_at_ms FROM postbacks_decoded_v1 FINAL
     WHERE advertised_item_id = {item:UInt64} ORDER BY received_at_ms`,
    { item },
  )

test('what no known key could verify is judged by a new one, once, and claims its place', async () => {
  const item = newItem()
  const old = aak(item, noon - 29 * day)
  await write([old, aak(item, noon - 2), aak(item, noon - 31 * day)])
  await look()
  const judged = [
    { verdict: 'unverifiable', received_at_ms: noon - 31 * day, judged_at_ms: noon - 31 * day },
    { verdict: 'valid', received_at_ms: noon - 29 * day, judged_at_ms: noon },
    { verdict: 'valid', received_at_ms: noon - 2, judged_at_ms: noon },
  ]
  expect(await judgements(item)).toEqual(judged)
  await look(nextYear, noon + 1)
  expect(await judgements(item)).toEqual(judged)
  const [claim] = await clickhouse.query<{ at: number }>(
    `SELECT received_at_ms AS at FROM postback_claims_v1 WHERE postback_key IN (
       SELECT postback_key FROM postbacks_decoded_v1 WHERE postback_id = {id:String})`,
    { id: old.id },
  )
  expect(claim).toEqual({ at: noon - 29 * day })
})

test('a batch that comes again with the keys of before changes no later judgement', async () => {
  const item = newItem()
  const log = makeLog()
  await publishPostbacks(log, [aak(item, noon - 1)])
  let crashes = 1
  const step = () => {
    if (crashes-- > 0) throw new Error('crash')
  }
  await runToEnd(clickhouse, log, { step: async (n) => (n === 2 ? look().then(step) : undefined) })
  expect(await judgements(item)).toEqual([expect.objectContaining({ verdict: 'valid' })])
})

test('what one process proved stays proven when another repeats the batch with fewer keys', async () => {
  const item = newItem()
  const log = makeLog()
  await publishPostbacks(log, [aak(item, noon - 1)])
  let crashed = false
  const crash = (n: number) => {
    if (n !== 2) return
    crashed = true
    throw new Error('crash')
  }
  const first = await startWriter(clickhouse, log, { keys: nextYear, step: crash })
  await vi.waitFor(() => expect(crashed).toBe(true), { timeout: 180_000, interval: 1 })
  await first.close()
  await runToEnd(clickhouse, log)
  expect(await judgements(item)).toEqual([expect.objectContaining({ verdict: 'valid' })])
})

test('what one process proved stays proven when another, with fewer keys, ends its look later', async () => {
  const item = newItem()
  await write([aak(item, noon - 1)])
  const late = judgeAgain({
    clickhouse: {
      query: (sql, params) => clickhouse.query(sql, params),
      async insert(block) {
        await look(nextYear, noon)
        await clickhouse.insert(block)
      },
    },
    postbackKeys: { current: () => postbackKeys(apple.keys.skan, new Map()), refresh: async () => {} },
    now: () => noon + 1,
  })
  await late(new AbortController().signal)
  expect(await judgements(item)).toEqual([expect.objectContaining({ verdict: 'valid' })])
})

test('a version that is known now may say another item id: the row moves, and nothing stays behind', async () => {
  const item = newItem()
  const fields = apple.signSkan('2.0', skanFields('2.0', { 'app-id': item }))
  const body = writeJson(fields)
  const id = `${fields['transaction-id']}`
  await write([{ id, received: receivedOf('skan', body, noon - 5) }], noVersions)
  // As if the release of then had read another field.
  await clickhouse.command(
    `INSERT INTO postbacks_decoded_v1 SELECT * REPLACE (0 AS advertised_item_id) FROM (SELECT * FROM postbacks_decoded_v1 WHERE advertised_item_id = ${item})`,
  )
  await clickhouse.command(`DELETE FROM postbacks_decoded_v1 WHERE advertised_item_id = ${item}`)
  await look(apple.keys)
  expect(await judgements(item)).toEqual([expect.objectContaining({ verdict: 'valid' })])
  const left = await clickhouse.query(
    `SELECT 1 FROM postbacks_decoded_v1 FINAL WHERE advertised_item_id = 0 AND postback_id = {id:String}`,
    { id },
  )
  expect(left).toEqual([])
})

test('a job that was cut off goes on; more than one page is judged; still unverifiable ones wait for the next keys', async () => {
  const item = newItem()
  await write(Array.from({ length: 600 }, (_, n) => aak(item, noon - 1000 + n)))
  const verdicts = async () => new Set((await judgements(item)).map(({ verdict }) => verdict))
  const others = postbackKeys(apple.keys.skan, new Map())
  await look(others)
  expect([...(await verdicts())]).toEqual(['unverifiable'])
  let inserts = 0
  const job = judgeAgain({
    clickhouse: {
      query: (sql, params) => clickhouse.query(sql, params),
      async insert(block) {
        inserts += 1
        if (inserts === 2) throw new Error('crash')
        await clickhouse.insert(block)
      },
    },
    postbackKeys: { current: () => nextYear, refresh: async () => {} },
    now: () => noon + 1,
  })
  const { signal } = new AbortController()
  await expect(job(signal)).rejects.toThrow('crash')
  expect(await verdicts()).toEqual(new Set(['valid', 'unverifiable']))
  await job(signal)
  expect([...(await verdicts())]).toEqual(['valid'])
})

test('claims that lack their mark after a failure or a repair get it by the next run', async () => {
  const item = newItem()
  const old = aak(item, noon - 2)
  const later = aakPayload({ 'advertised-item-identifier': item, 'postback-identifier': old.id })
  await write([old, { id: old.id, received: receivedOf('aak', apple.signAak(later), noon - 1) }])
  let failures = 1
  const job = judgeAgain({
    clickhouse: {
      query: (sql, params) => clickhouse.query(sql, params),
      async insert(block) {
        if (block.table === 'postback_beaten_claims_v1' && failures-- > 0) throw new Error('crash')
        await clickhouse.insert(block)
      },
    },
    postbackKeys: { current: () => nextYear, refresh: async () => {} },
    now: () => noon,
  })
  const { signal } = new AbortController()
  await expect(job(signal)).rejects.toThrow('crash')
  expect(await beatenPlaces(clickhouse, item)).toEqual([])
  await job(signal)
  const [marked] = await beatenPlaces(clickhouse, item)
  expect(marked).toMatch(/[/]1$/)
  await clickhouse.command('TRUNCATE TABLE postback_beaten_claims_v1')
  await markAllBeaten(clickhouse, signal, 100)
  expect(await beatenPlaces(clickhouse, item)).toEqual([marked])
})

test('a process looks again when its keys have changed, and each hour', async () => {
  let keys = nextYear
  let at_ms = noon
  let looks = 0
  const job = judgeAgain({
    clickhouse: {
      insert: async () => {},
      async query(sql) {
        if (sql.includes('unverifiable')) looks += 1
        return []
      },
    },
    postbackKeys: { current: () => keys, refresh: async () => {} },
    now: () => at_ms,
  })
  const looksAfter = async (ms: number) => {
    at_ms += ms
    await job(new AbortController().signal)
    return looks
  }
  expect(await looksAfter(0)).toBe(1)
  expect(await looksAfter(limits.postback_judging_pause_ms - 1)).toBe(1)
  expect(await looksAfter(1)).toBe(2)
  keys = apple.keys
  expect(await looksAfter(1)).toBe(3)
})
