import { randomUUID } from 'node:crypto'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { createFailedInserts } from '@tributary/clickhouse/failed-inserts'
import { insertRows } from '@tributary/clickhouse/insert-rows'
import { textLiteral, textLiterals } from '@tributary/clickhouse/literals'
import { claimKeySql } from '@tributary/contracts/postback/claim-key'
import { type JudgedPostback, postbackEnvironments } from '@tributary/contracts/postback/judged'
import type { PostbackPlace } from '@tributary/tables/postbacks/postback-rows'

/** A postback whose judgement is stored. */
export interface StoredJudgement {
  judged: JudgedPostback
  place: PostbackPlace
  received_at_ms: number
}

type Deps = Pick<Clickhouse, 'query' | 'insert'>

interface BeatenClaim {
  on: string
  /** Digits of a 64-bit number. */
  claim_key: string
}

/**
 * The first claims of a postback that are looked at besides those of the batch, however many of the batch come before them. The
 * first is the winner of before; some may have come at the same moment from another process. Those behind them are marked already.
 */
const other_claims_max = 32

/**
 * A postback with at least so many claims is crowded: reading its first claims costs less than reading all
 * (docs/decisions/postbacks.md#beaten-claims-are-marked).
 */
const crowded_claims_min = 4096

/** Maximum of rows of a claim that are read. Each repeated batch adds one until they are merged; a start looks at all claims anyway. */
const copies_max = 4

/** Crowded postbacks that one statement looks at: each adds two subqueries to it. */
const crowded_together = 50

/**
 * Marks claims that an earlier one on the same postback beats (docs/rules.md#who-wins), among those that these postbacks meet.
 * Call it when their judgements are stored: two processes may store claims on one postback at the same moment, and one
 * of them at least then sees both. Marks are a set and never wrong, since a claim never ends. Tests set `crowded_min`.
 */
export async function markBeaten(
  clickhouse: Deps,
  stored: readonly StoredJudgement[],
  crowded_min = crowded_claims_min,
): Promise<void> {
  const valid = stored.filter(({ judged }) => judged.verdict === 'valid')
  if (valid.length === 0) return
  const found = await clickhouse.query<Contested>(
    contested(`postback_key IN (${keysSql(valid)})`, 'toString(postback_key) AS key, count() AS claims'),
  )
  const crowded = found.filter(({ claims }) => claims >= crowded_min).map(keyOf)
  const others = found.filter(({ claims }) => claims < crowded_min).map(keyOf)
  const isOurs = isOneOf(valid)
  if (others.length > 0) await mark(clickhouse, beatenOfSql(claimsOf(others), isOurs))
  for (let from = 0; from < crowded.length; from += crowded_together) {
    const some = crowded.slice(from, from + crowded_together)
    await mark(clickhouse, beatenOfSql(firstClaimsOf(some, valid), isOurs))
  }
}

interface Contested {
  /** Digits of a 64-bit number. */
  key: string
  claims: number
}

const keyOf = ({ key }: Contested): bigint => BigInt(key)

/** The keys of postbacks, in base64, because texts of a postback must not end a literal. */
function keysSql(valid: readonly StoredJudgement[]): string {
  const claimed = valid.map(({ judged: { protocol, network, postback_id, sequence_index } }) => [
    ...[protocol, network, postback_id].map((text) => text.toWellFormed()),
    sequence_index,
  ])
  const text = Buffer.from(JSON.stringify(claimed)).toString('base64')
  return `SELECT sipHash64(one.1, one.2, one.3, one.4) FROM (
      SELECT arrayJoin(JSONExtract(base64Decode(${textLiteral(text)}), 'Array(Tuple(String, String, String, UInt8))')) AS one)`
}

/** SQL condition for the claims of a batch. */
function isOneOf(stored: readonly StoredJudgement[]): string {
  const places = stored.map(({ place }) => place)
  return `topic IN (${textLiterals(places.map(({ topic }) => topic))})
      AND partition IN (${numbers(places.map(({ partition }) => partition))})
      AND offset IN (${numbers(places.map(({ offset }) => offset))})`
}

const claimColumns = 'postback_key, day, environment, received_at_ms, topic, partition, offset'

/** All claims on some postbacks. */
const claimsOf = (keys: readonly bigint[]): string => `
      SELECT ${claimColumns} FROM postback_claims_v1 WHERE postback_key IN (${keys.join(', ')})`

/**
 * The first claims on some postbacks, and the claims of a batch. The order of the table finds both, in a few granules. The limit has
 * room for the whole batch, because all of it may come first.
 */
const firstClaimsOf = (keys: readonly bigint[], batch: readonly StoredJudgement[]): string =>
  [
    `${claimsOf(keys)} AND received_at_ms IN (${numbers(batch.map(({ received_at_ms }) => received_at_ms))}) AND ${isOneOf(batch)}`,
    ...keys.flatMap((key) =>
      postbackEnvironments.map(
        (environment) => `
      SELECT * FROM (${claimsOf([key])} AND environment = ${textLiteral(environment)}
        ORDER BY postback_key, environment, received_at_ms, topic, partition, offset
        LIMIT ${(other_claims_max + batch.length) * copies_max})`,
      ),
    ),
  ].join('\n      UNION ALL')

/**
 * Marks all that are beaten: after a repair, or a failure between a claim and its mark. It looks through
 * `slice_rows` claims with a statement, so that none holds the engine up, and holds a quarter of them, also where all are on one
 * postback.
 */
export async function markAllBeaten(clickhouse: Deps, signal: AbortSignal, slice_rows = 1_000_000): Promise<void> {
  const [held] = await count(clickhouse, '1')
  for (const keys of slicesOf('postback_key', held, slice_rows)) {
    const [rows, postbacks] = await count(clickhouse, keys)
    for (const claims of slicesOf(claimKeySql(), Math.max(rows - postbacks, 1), slice_rows / 4)) {
      if (signal.aborted) return
      await mark(clickhouse, withoutMark(allBeatenSql(keys, claims)))
    }
  }
}

/** The claims of a condition, and about how many postbacks they are on. */
async function count(clickhouse: Deps, where: string): Promise<[rows: number, postbacks: number]> {
  const [found] = await clickhouse.query<{ rows: number; postbacks: number }>(
    `SELECT count() AS rows, uniq(postback_key) AS postbacks FROM postback_claims_v1 WHERE ${where}`,
  )
  return [found?.rows ?? 0, found?.postbacks ?? 0]
}

/** How many hashes of 64 bits there are. */
const hashes = 2n ** 64n

/** Conditions on a hash that divide so many rows. */
function slicesOf(hash: string, rows: number, slice_rows: number): string[] {
  const slices = Math.ceil(rows / slice_rows)
  const bound = (n: number) => (hashes * BigInt(n)) / BigInt(slices)
  return Array.from({ length: slices }, (_, n) => `${hash} BETWEEN ${bound(n)} AND ${bound(n + 1) - 1n}`)
}

/** Leaves marked claims out. It serves many claims, since it reads all marks; it keeps none of them in memory. */
const withoutMark = (beaten: string): string =>
  `SELECT beaten.day AS day, beaten.claim_key AS claim_key FROM postback_beaten_claims_v1 AS marked
RIGHT ANTI JOIN (${beaten}
) AS beaten ON marked.day = beaten.day AND marked.claim_key = beaten.claim_key`

const numbers = (values: readonly number[]): string => [...new Set(values.map(Number))].join(', ')

/** Marks the claims that a statement names. */
async function mark(clickhouse: Deps, sql: string): Promise<void> {
  const beaten = await clickhouse.query<BeatenClaim>(`
SELECT toString(t.day) AS on, toString(t.claim_key) AS claim_key
FROM (${sql}
) AS t
SETTINGS optimize_aggregation_in_order = 1`)
  if (beaten.length === 0) return
  // A token of its own each time: the table may have been emptied since the same rows were inserted.
  const token = `postback-writer/beaten/${randomUUID()}`
  const into = { table: 'postback_beaten_claims_v1', columns: ['day', 'claim_key'] }
  const how = { clickhouse, failed: createFailedInserts(), into, token, attempt: 1 }
  await insertRows(beaten, ({ on, claim_key }) => JSON.stringify([on, claim_key]), how)
}

/** Received time, then log position: the order of claims. */
const place = 'received_at_ms, toString(topic), partition, offset'
const claim = `tuple(${place}, day)`

/** Postbacks that were claimed more than once. Of nearly all others only the key is read. */
const contested = (isPostback: string, columns = 'postback_key'): string => `
      SELECT ${columns} FROM postback_claims_v1
      WHERE ${isPostback}
      GROUP BY postback_key
      HAVING count() > 1
      SETTINGS optimize_aggregation_in_order = 1`

/** The beaten ones of some claims, with their days: all of ours, and the first of the others. */
const beatenOfSql = (claims: string, isOurs: string): string => `
  SELECT lost.5 AS day, ${claimKeySql('lost.2', 'lost.3', 'lost.4')} AS claim_key
  FROM (
    SELECT postback_key, environment, min(${claim}) AS first, groupUniqArrayIf(${claim}, ${isOurs}) AS ours,
      groupArraySortedIf(${other_claims_max})(${claim}, NOT (${isOurs})) AS others,
      arrayJoin(arrayFilter(one -> one != first, arrayDistinct(arrayConcat(others, ours)))) AS lost
    FROM (${claims}
    )
    GROUP BY postback_key, environment
  )`

/** All of them, without a list for each postback. `isClaim` is a condition on the claim key. */
const allBeatenSql = (isPostback: string, isClaim: string): string => `
  SELECT day, ${claimKeySql()} AS claim_key
  FROM postback_claims_v1
  WHERE postback_key IN (${contested(isPostback)}
    )
    AND (postback_key, toString(environment), ${place}) NOT IN (
      SELECT postback_key, toString(environment), first.1, first.2, first.3, first.4
      FROM (
        SELECT postback_key, environment, min(tuple(${place})) AS first FROM postback_claims_v1
        WHERE postback_key IN (${contested(isPostback)}
        )
        GROUP BY postback_key, environment
      )
    )
    AND ${isClaim}`
