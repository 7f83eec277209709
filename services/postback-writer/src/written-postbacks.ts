import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { textLiteral } from '@tributary/clickhouse/literals'
import { day_ms } from '@tributary/contracts/limits'
import { utcDay } from '@tributary/domain/utc-day'
import type { PostbackPlace } from '@tributary/tables/postbacks/postback-rows'

/** A row of `postbacks_raw_v1`. */
export interface WrittenPostback extends PostbackPlace {
  /** UTC date on which it was received. */
  day: string
  /** True for a valid one: its row stays for ever. */
  proven: boolean
}

/** SQL condition for one row; it reads one granule, however large the table is. */
const rowAt = ({ day, topic, partition, offset }: WrittenPostback): string =>
  `day = ${textLiteral(day)} AND topic = ${textLiteral(topic)} AND partition = ${Number(partition)} AND offset = ${Number(offset)}`

/** Whether `postbacks_raw_v1` has the postback. */
export async function hasPostback(clickhouse: Pick<Clickhouse, 'query'>, at: WrittenPostback): Promise<boolean> {
  const found = await clickhouse.query(`SELECT 1 FROM postbacks_raw_v1 WHERE ${rowAt(at)} LIMIT 1`)
  return found.length > 0
}

/**
 * Whether a partition of a log has postbacks behind an offset, -1 for any. It reads those from the day before the last known
 * one on: clocks of gateways differ by less.
 */
export async function hasPostbacksBehind(
  clickhouse: Pick<Clickhouse, 'query'>,
  { source, partition }: { source: string; partition: number },
  offset: number,
  last: WrittenPostback | null,
): Promise<boolean> {
  const from = last === null ? '1970-01-01' : utcDay(Date.parse(last.day) - day_ms)
  const found = await clickhouse.query(
    `SELECT 1 FROM postbacks_raw_v1
     WHERE day >= ${textLiteral(from)} AND topic = ${textLiteral(source)}
       AND partition = ${Number(partition)} AND offset >= ${offset + 1} LIMIT 1`,
  )
  return found.length > 0
}
