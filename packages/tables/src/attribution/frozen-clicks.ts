import { randomUUID } from 'node:crypto'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { textLiteral } from '@tributary/clickhouse/literals'
import { insertSelect } from '../settled/insert-select.ts'

const labels = ['ad_group', 'creative', 'link_id', 'country'] as const

/** SQL of the days of an app whose clicks are frozen. `app_id` is SQL. */
export const frozenDaysSql = (app_id: string): string =>
  `SELECT day FROM clicks_frozen_v1 WHERE app_id = ${app_id} AND is_mark = 1`

/** SQL of the frozen counts of an app, as `FROM` has them: of each day those of its first mark. */
export const frozenSql = (app_id: string): string => `clicks_frozen_v1 FINAL
      WHERE app_id = ${app_id} AND is_mark = 0 AND (day, batch) IN (
        SELECT day, argMin(batch, (frozen_at_ms, batch)) FROM clicks_frozen_v1 WHERE app_id = ${app_id} AND is_mark = 1 GROUP BY day)`

/** Days of one statement. */
const days_max = 100

interface Day {
  app_id: string
  day: string
}

/**
 * Counts the clicks of days for ever, before retention deletes them: `before` is SQL of the first day of an app that is not frozen yet.
 * A day is frozen once. One process at a time; after a crash the next run counts what has no mark.
 */
export async function freezeClicks(
  clickhouse: Clickhouse,
  before: string,
  { now_ms, signal }: { now_ms: number; signal: AbortSignal },
): Promise<void> {
  // Never a day that is not over for the engine, whatever the clock of this process says.
  const due = await clickhouse.query<Day>(
    `SELECT app_id, toString(d) AS day FROM (
       SELECT DISTINCT app_id, day AS d FROM clicks_raw_v1 WHERE day < ${before} AND day < toDate(now('UTC'))
         AND (app_id, day) NOT IN (SELECT app_id, day FROM clicks_frozen_v1 WHERE is_mark = 1)
     ) ORDER BY app_id, d`,
  )
  for (let at = 0; at < due.length; at += days_max) {
    signal.throwIfAborted()
    await freeze(clickhouse, due.slice(at, at + days_max), now_ms)
  }
}

async function freeze(clickhouse: Clickhouse, days: readonly Day[], now_ms: number): Promise<void> {
  const batch = randomUUID()
  const set = days.map(({ app_id, day }) => `(${textLiteral(app_id)}, toDate(${textLiteral(day)}))`).join(', ')
  // 1. The counts. A crash now: they have no mark, and nobody reads them.
  await insertSelect(
    clickhouse,
    ['clicks_raw_v1'],
    `INSERT INTO clicks_frozen_v1 (app_id, day, batch, is_mark, partner, campaign, ${labels.join(', ')}, clicks, frozen_at_ms)
SELECT app_id, day, toUUID(${textLiteral(batch)}), 0, partner, campaign, ${labels.map((one) => `JSONExtractString(click, ${textLiteral(one)}) AS ${one}`).join(', ')},
  count(), ${Number(now_ms)}
FROM clicks_raw_v1 FINAL
WHERE (app_id, day) IN (${set}) AND filtered_reason = ''
GROUP BY app_id, day, partner, campaign, ${labels.join(', ')}`,
  )
  // 2. From now on the days count by them, and clicks of these days may go.
  await clickhouse.insert({
    table: 'clicks_frozen_v1',
    columns: ['app_id', 'day', 'batch', 'is_mark', 'frozen_at_ms'],
    lines: days.map(({ app_id, day }) => JSON.stringify([app_id, day, batch, 1, now_ms])).join('\n'),
    token: `frozen/${batch}`,
  })
}
