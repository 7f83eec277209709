import { randomUUID } from 'node:crypto'
import type { JudgedPostback } from '@tributary/contracts/postback/judged'
import { openTestClickhouse, type TestClickhouse } from '@tributary/testing/engines/test-clickhouse'
import { aakPayload } from '@tributary/testing/postback/apple-twin'
import { roundsOf } from '@tributary/testing/rounds'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { markAllBeaten, markBeaten, type StoredJudgement } from '../src/beaten-claims.ts'
import { apple, beatenPlaces, makeLog, newItem, noon, publishPostbacks, receivedOf, runToEnd } from './stage.ts'

let clickhouse: TestClickhouse
beforeAll(async () => {
  clickhouse = await openTestClickhouse()
})
afterAll(() => clickhouse.close())

/** The look of a process whose statements have this setting besides. */
const withSetting = (setting: string): Parameters<typeof markAllBeaten>[0] => ({
  insert: (block) => clickhouse.insert(block),
  query: (sql) => clickhouse.query(sql.replace(/(SETTINGS [^()]*)$/, `$1, ${setting}`)),
})
const bounded = withSetting('max_memory_usage = 60000000')

/** A claim of network `n`, as it is stored. */
interface Claim {
  id: string
  environment: 'production' | 'development'
  at: number
  offset: number
}

const topic = `test@${randomUUID()}`

async function storeClaims(claims: readonly Claim[]): Promise<void> {
  const rows = claims.map(({ id, environment, at, offset }) => `('${id}', '${environment}', ${noon + at}, ${offset})`)
  await clickhouse.command(
    `INSERT INTO postback_claims_v1 SELECT sipHash64('skan', 'n', one.1, 0), toDate('2026-06-10'), one.2, one.3, '${topic}', 0, one.4
     FROM (SELECT arrayJoin([${rows.join(', ')}]) AS one)`,
  )
}

const stored = ({ id, environment, at, offset }: Claim): StoredJudgement => ({
  judged: {
    ...{ protocol: 'skan', network: 'n', postback_id: id, sequence_index: 0, verdict: 'valid', environment },
  } as JudgedPostback,
  place: { topic, partition: 0, offset },
  received_at_ms: noon + at,
})

async function markedOffsets(): Promise<number[]> {
  const rows = await clickhouse.query<{ offset: number }>(
    `SELECT DISTINCT offset FROM postback_claims_v1
     WHERE topic = '${topic}' AND (day, cityHash64(postback_key, environment, topic, partition, offset)) IN (
       SELECT day, claim_key FROM postback_beaten_claims_v1) ORDER BY offset`,
  )
  return rows.map(({ offset }) => offset)
}

test('batches mark exactly the beaten claims, however many are on a postback and however often they were inserted', async () => {
  const claim = fc.record({
    which: fc.integer({ min: 0, max: 2 }),
    environment: fc.constantFrom('production' as const, 'development' as const),
    at: fc.integer({ min: 0, max: 9 }),
  })
  const plan = fc.record({
    batches: fc.array(fc.array(claim, { minLength: 1, maxLength: 12 }), { minLength: 1, maxLength: 5 }),
    crowded_min: fc.constantFrom(2, 5, 1000),
    inserts: fc.integer({ min: 1, max: 3 }),
  })
  let offset = 0
  await fc.assert(
    fc.asyncProperty(plan, async ({ batches, crowded_min, inserts }) => {
      const run = randomUUID()
      const first_offset = offset
      const claims: Claim[][] = batches.map((batch) =>
        batch.map(({ which, ...one }) => ({ ...one, id: `${run}-${which}`, offset: offset++ })),
      )
      for (const batch of claims) {
        for (let n = 0; n < inserts; n += 1) await storeClaims(batch)
        await markBeaten(clickhouse, batch.map(stored), crowded_min)
      }
      const winners = new Set<number>()
      for (const same of Map.groupBy(claims.flat(), ({ id, environment }) => `${id}/${environment}`).values())
        winners.add(same.toSorted((a, b) => a.at - b.at || a.offset - b.offset)[0]!.offset)
      const beaten = claims.flat().flatMap((one) => (winners.has(one.offset) ? [] : [one.offset]))
      expect((await markedOffsets()).filter((one) => one >= first_offset)).toEqual(beaten)
    }),
    { numRuns: roundsOf(10) },
  )
})

test('a repeated batch of earlier claims marks the winner of before, behind all of them', async () => {
  const id = randomUUID()
  const claim = (at: number, offset: number): Claim => ({ id, environment: 'production', at, offset })
  const former = claim(500, 8_000_000)
  await storeClaims([former])
  const batch = Array.from({ length: 60 }, (_, n) => claim(n, 8_000_001 + n))
  for (let n = 0; n < 3; n += 1) await storeClaims(batch)
  await markBeaten(clickhouse, batch.map(stored), 2)
  expect((await markedOffsets()).filter((offset) => offset >= 8_000_000)).toEqual([
    former.offset,
    ...batch.slice(1).map(({ offset }) => offset),
  ])
})

test('a resend of a postback that came half a million times reads little of its claims', async () => {
  const id = randomUUID()
  const claims = 500_000
  await clickhouse.command(
    `INSERT INTO postback_claims_v1 SELECT sipHash64('skan', 'n', '${id}', 0), toDate('2026-06-10'), 'production',
       ${noon} + number, '${topic}', 1, number FROM numbers(${claims})`,
  )
  const resent: Claim = { id, environment: 'production', at: claims, offset: 7_000_000 }
  await storeClaims([resent])
  // All columns take 36 bytes a claim, its key 8.
  await markBeaten(withSetting(`max_bytes_to_read = ${12 * claims}`), [stored(resent)])
  expect(await markedOffsets()).toContain(resent.offset)
})

test('the look at all claims takes no more memory with the marks there are', async () => {
  const item = newItem()
  const id = randomUUID()
  const payload = aakPayload({ 'advertised-item-identifier': item, 'postback-identifier': id })
  const log = makeLog()
  const received = [noon - 2, noon - 1].map((at_ms) => receivedOf('aak', apple.signAak(payload), at_ms))
  await publishPostbacks(
    log,
    received.map((one) => ({ id, received: one })),
  )
  await runToEnd(clickhouse, log)
  const marked = await beatenPlaces(clickhouse, item)
  expect(marked).toHaveLength(1)
  await clickhouse.command('TRUNCATE TABLE postback_beaten_claims_v1')
  await clickhouse.command(
    `INSERT INTO postback_beaten_claims_v1 SELECT toDate('2026-03-01'), sipHash64(number) FROM numbers(3_000_000)`,
  )
  const { signal } = new AbortController()
  await markAllBeaten(bounded, signal)
  expect(await beatenPlaces(clickhouse, item)).toEqual(marked)
  const [before] = await clickhouse.query('SELECT count() AS rows FROM postback_beaten_claims_v1')
  await markAllBeaten(bounded, signal)
  expect(await clickhouse.query('SELECT count() AS rows FROM postback_beaten_claims_v1')).toEqual([before])
})

test('the look at all claims takes no more memory with the claims on one postback', async () => {
  const claims = 600_000
  await clickhouse.command('TRUNCATE TABLE postback_beaten_claims_v1')
  await clickhouse.command(
    `INSERT INTO postback_claims_v1 SELECT 7, toDate('2026-03-01'), 'production', 1 + number % 9, 'resent', 0, number FROM numbers(${claims})`,
  )
  const beaten = () =>
    clickhouse.query("SELECT count() AS rows FROM postback_beaten_claims_v1 WHERE day = '2026-03-01'")
  await markAllBeaten(bounded, new AbortController().signal, 300_000)
  expect(await beaten()).toEqual([{ rows: claims - 1 }])
  await markAllBeaten(bounded, new AbortController().signal, 300_000)
  expect(await beaten()).toEqual([{ rows: claims - 1 }])
})
