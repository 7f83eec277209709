import { randomUUID } from 'node:crypto'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { textLiterals } from '@tributary/clickhouse/literals'
import type { StampSource } from '@tributary/contracts/report-tables'

interface Stamps {
  app_id: string
  source: StampSource
  day: string
  rows: number
}

/** Ids of one statement, which stays far below `statement_bytes_max`. */
const installs_max = 10_000

/** Adds to stamps. Too much does no harm: the day is settled once more. */
export async function addStamps(clickhouse: Pick<Clickhouse, 'insert'>, stamps: readonly Stamps[], token: string) {
  if (stamps.length === 0) return
  const lines = stamps.map(({ app_id, source, day, rows }) => JSON.stringify([app_id, source, day, rows]))
  const columns = ['app_id', 'source', 'day', 'rows']
  await clickhouse.insert({ table: 'report_stamps_v1', columns, lines: lines.join('\n'), token })
}

/**
 * Adds to the stamps of the days on which these installs have money: to be called when their verdicts changed, after the insert
 * of the verdicts and before anybody may rely on it. Money that is stored after the look-up adds to its own day.
 */
export async function bumpMoneyDays(
  clickhouse: Pick<Clickhouse, 'query' | 'insert'>,
  installs: readonly { app_id: string; install_uuid: string }[],
): Promise<void> {
  for (let at = 0; at < installs.length; at += installs_max) {
    const some = installs.slice(at, at + installs_max)
    const apps = textLiterals(some.map(({ app_id }) => app_id))
    const ids = textLiterals(some.map(({ install_uuid }) => install_uuid))
    const found = await clickhouse.query<{ app_id: string; day: string }>(
      `SELECT app_id, toString(t.day) AS day FROM money_days_v1 AS t
       WHERE app_id IN (${apps}) AND install_key IN (SELECT sipHash64(arrayJoin([${ids}]))) GROUP BY app_id, t.day`,
    )
    const stamps = found.map((one) => ({ ...one, source: 'money' as const, rows: 1 }))
    // A version may rise twice, so each call has a token of its own: an old one may be known without its rows.
    await addStamps(clickhouse, stamps, `bump/${randomUUID()}`)
  }
}
