import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { createFailedInserts } from '@tributary/clickhouse/failed-inserts'
import { insertRows } from '@tributary/clickhouse/insert-rows'
import { textLiteral } from '@tributary/clickhouse/literals'
import { limits } from '@tributary/contracts/limits'
import type { PostbackReceived } from '@tributary/contracts/postback/received'
import { utcDay } from '@tributary/domain/utc-day'
import { judgeAll } from '@tributary/tables/postbacks/judge-received'
import {
  type DecodedRow,
  decodedColumns,
  decodedLine,
  itemNumber,
  type PostbackPlace,
} from '@tributary/tables/postbacks/postback-rows'
import type { KnownKeys } from '@tributary/tenancy/postbacks/postback-keys'
import type { Registry } from 'prom-client'
import { markAllBeaten, markBeaten } from './beaten-claims.ts'
import { judgedTotal } from './metrics.ts'

export interface JudgeAgainDeps {
  clickhouse: Pick<Clickhouse, 'query' | 'insert'>
  postbackKeys: KnownKeys
  now(): number
  registry?: Registry
}

/** The first columns of the order of `postbacks_decoded_v1`. They name a row. */
interface RowKey extends PostbackPlace {
  /** Digits of a 64-bit number. */
  advertised_item_id: string
  day: string
}

/** Postbacks of one statement: their bodies have 8 KiB at most. */
const page_rows_max = 256

/**
 * Judges the `unverifiable` postbacks of the last 30 days again that were judged with other keys than those known now
 * (docs/rules.md#judged-again). Each row says which keys judged it, so that nothing else is kept: a kill, an upgrade or a second
 * process repeats work and changes no result. Looks when keys have changed, and each hour.
 */
export function judgeAgain(deps: JudgeAgainDeps): (signal: AbortSignal) => Promise<void> {
  const { postbackKeys, now } = deps
  let looked = { fingerprint: '', at_ms: 0 }
  let marked = false
  return async (signal) => {
    if (!marked) await markAllBeaten(deps.clickhouse, signal)
    if (signal.aborted) return
    marked = true
    await postbackKeys.refresh()
    const { fingerprint } = postbackKeys.current()
    const at_ms = now()
    if (looked.fingerprint === fingerprint && Math.abs(at_ms - looked.at_ms) < limits.postback_judging_pause_ms) return
    marked = false // a failure between a judgement and its mark leaves a row that is not found again
    for await (const page of findUnverifiable(deps.clickhouse, fingerprint, at_ms)) {
      await judgePage(deps, page)
      if (signal.aborted) return
    }
    marked = true
    looked = { fingerprint, at_ms }
  }
}

/** The rows of other keys, a page at a time. Some may have been judged again since. */
async function* findUnverifiable(clickhouse: JudgeAgainDeps['clickhouse'], fingerprint: string, now_ms: number) {
  const from = utcDay(now_ms - limits.postback_unverifiable_ms_max)
  let after = ''
  while (true) {
    const page = await clickhouse.query<RowKey>(
      `SELECT ${rowKey} FROM postbacks_decoded_v1
       WHERE postbacks_decoded_v1.day >= ${textLiteral(from)} AND ${isOpen(fingerprint)} ${after}
       ORDER BY ${keyColumns}
       LIMIT ${page_rows_max}`,
    )
    if (page.length === 0) return
    yield page
    after = `AND (${keyColumns}) > (${keyValues(page.at(-1)!)})`
  }
}

const rowKey = 'toString(advertised_item_id) AS advertised_item_id, toString(day) AS day, topic, partition, offset'
/** Two columns carry the name of the table, because `rowKey` gives their names to texts. */
const keyColumns = 'postbacks_decoded_v1.advertised_item_id, postbacks_decoded_v1.day, topic, partition, offset'
const keyValues = (row: RowKey): string => `${BigInt(row.advertised_item_id)}, ${placeValues(row)}`
const placeValues = ({ day, topic, partition, offset }: RowKey): string =>
  `toDate(${textLiteral(day)}), ${textLiteral(topic)}, ${Number(partition)}, ${Number(offset)}`

/** SQL condition: not verifiable with the keys that it was judged with, which are not these. */
const isOpen = (fingerprint: string): string =>
  `verdict = 'unverifiable' AND moved = 0 AND judged_by != ${textLiteral(fingerprint)}`

/** A postback whose newest judgement is to be made again. */
interface OpenPostback extends Pick<PostbackReceived, 'protocol' | 'body' | 'received_at_ms'> {
  row: RowKey
}

async function findOpen(
  clickhouse: JudgeAgainDeps['clickhouse'],
  page: readonly RowKey[],
  fingerprint: string,
): Promise<OpenPostback[]> {
  const rows = await clickhouse.query<RowKey>(
    `SELECT ${rowKey} FROM postbacks_decoded_v1 FINAL
     WHERE (${keyColumns}) IN (${page.map((row) => `(${keyValues(row)})`).join(', ')}) AND ${isOpen(fingerprint)}`,
  )
  if (rows.length === 0) return []
  const bodies = await clickhouse.query<Omit<OpenPostback, 'row'> & PostbackPlace>(
    `SELECT topic, partition, offset, protocol, body, received_at_ms FROM postbacks_raw_v1
     WHERE (day, topic, partition, offset) IN (${rows.map((row) => `(${placeValues(row)})`).join(', ')})
     LIMIT 1 BY topic, partition, offset`,
  )
  const byPlace = new Map(bodies.map((one) => [nameOf(one), one]))
  return rows.flatMap((row) => {
    const stored = byPlace.get(nameOf(row))
    return stored === undefined ? [] : [{ ...stored, row }]
  })
}

const nameOf = ({ topic, partition, offset }: PostbackPlace): string => `${topic}/${partition}/${offset}`

async function judgePage({ clickhouse, postbackKeys, now, registry }: JudgeAgainDeps, page: readonly RowKey[]) {
  const keys = postbackKeys.current()
  const open = await findOpen(clickhouse, page, keys.fingerprint)
  if (open.length === 0) return
  const judged = await judgeAll(open, keys)
  const judged_at_ms = now()
  const rows = open.flatMap(({ row: { advertised_item_id, topic, partition, offset }, received_at_ms }, n) => {
    const place = { topic, partition, offset }
    const times = { received_at_ms, judged_at_ms }
    const row: DecodedRow = { judged: judged[n]!, place, ...times, judged_by: keys.fingerprint }
    if (itemNumber(row.judged.advertised_item_id) === advertised_item_id) return [row]
    // Another item id is another row of the set: the older one ends.
    return [
      row,
      { ...row, judged: { ...row.judged, verdict: 'unverifiable' as const, advertised_item_id }, moved: true },
    ]
  })
  const into = { table: 'postbacks_decoded_v1', columns: decodedColumns }
  const token = 'postback-writer/judged-again'
  await insertRows(rows, decodedLine, { clickhouse, failed: createFailedInserts(), into, token, attempt: 1 })
  await markBeaten(clickhouse, rows)
  const counted = registry && judgedTotal(registry)
  for (const { protocol, verdict } of judged) counted?.inc({ protocol, verdict })
}
