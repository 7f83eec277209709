import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { copySettings } from '@tributary/clickhouse/insert-settings'
import { textLiteral, textLiterals } from '@tributary/clickhouse/literals'
import type { ViewSource } from '@tributary/clickhouse/schema/view-sources'
import { settingsSql } from '@tributary/clickhouse/settings-sql'
import { utcDay } from '@tributary/domain/utc-day'
import type { RowKeys, StoredBatch } from './batch.ts'
import { ofInstalls } from './sql.ts'

/**
 * Fills the rows of a table again from what remains in its source, by its view: a day may hold a life before the mark and one
 * after it. Rows of events that are written meanwhile come by the view itself.
 */
export async function makeAgain(
  clickhouse: Clickhouse,
  view: ViewSource,
  { app_id, installs }: Pick<StoredBatch, 'app_id' | 'installs'>,
  keys: RowKeys,
  name: string,
): Promise<void> {
  const at = keys.columns.indexOf(keys.columns.includes('event_day') ? 'event_day' : 'day')
  const days = [...new Set(keys.rows.map((row) => String(row[at])))]
  // A row without a day stands for all of them; what remains is dated after the mark.
  const onDays =
    at < 0
      ? `day >= ${textLiteral(utcDay(Math.min(...installs.map(({ mark_ms }) => mark_ms))))}`
      : `day IN (${textLiterals(days)})`
  const remaining = `(SELECT * FROM ${view.source} WHERE ${ofInstalls(app_id, installs)} AND ${onDays})`
  // A replica may lack what another one has acknowledged. A query waits for it, an INSERT ... SELECT does not.
  const [row] = await clickhouse.query<{ found: number }>(`SELECT count() AS found FROM ${remaining}`)
  if (row!.found === 0) return
  const columns = view.columns.join(', ')
  await clickhouse.command(
    `INSERT INTO ${view.target} (${columns}) SELECT ${columns} FROM (${view.selectFrom(remaining)}) SETTINGS ${settingsSql(copySettings)}`,
    { name },
  )
}
