import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { textLiteral } from '@tributary/clickhouse/literals'
import { reportDimensions } from '@tributary/contracts/report-parameters'
import { insertSelect } from '../settled/insert-select.ts'

/** Rows that one statement reads of an app, about. */
const slice_rows = 200_000

/** Labels that a row of before these columns lacks where it ends a verdict: they are those of its click. */
const of_click: readonly string[] = ['ad_group', 'creative', 'sub1', 'sub2', 'sub3', 'sub4', 'sub5']
const plain = ['app_id', 'day', 'installed_at_ms', 'install_key', 'reinstall', 'sign', 'topic', 'partition', 'offset']

/** Apps with verdicts that `installs_by_dimensions_v1` lacks, written before its view was there, and the number of their verdicts. */
export const findUnfilled = (clickhouse: Pick<Clickhouse, 'query'>): Promise<{ app_id: string; verdicts: number }[]> =>
  clickhouse.query(
    `SELECT app_id, max(n) AS verdicts FROM (
       SELECT app_id, toInt64(count()) AS n, n AS lacking FROM installs_v1 FINAL WHERE pending = 0 GROUP BY app_id
       UNION ALL SELECT app_id, 0, -toInt64(count()) FROM installs_by_dimensions_v1 FINAL GROUP BY app_id
     ) GROUP BY app_id HAVING sum(lacking) > 0 ORDER BY app_id`,
  )

/**
 * Fills the table for one app. It is a set: a row that is there already stays the same. `inSlice` runs each statement, and keeps the eraser
 * away meanwhile, since a row that it deletes would come back.
 */
export async function fillDimensions(
  clickhouse: Clickhouse,
  { app_id, verdicts }: { app_id: string; verdicts: number },
  inSlice: (fill: () => Promise<void>) => Promise<void>,
): Promise<void> {
  const slices = Math.ceil(verdicts / slice_rows)
  for (let n = 0; n < slices; n++) {
    const where = `app_id = ${textLiteral(app_id)} AND install_key % ${slices} = ${n}`
    await inSlice(() => insertSelect(clickhouse, ['installs_v1'], fillSql(where)))
  }
}

const fillSql = (
  where: string,
) => `INSERT INTO installs_by_dimensions_v1 (${[...plain, 'flagged', ...reportDimensions].join(', ')})
SELECT ${plain.map((one) => `i.${one}`).join(', ')}, notEmpty(i.fraud_flags),
  ${reportDimensions.map((one) => (of_click.includes(one) ? `if(i.sign = 1 OR i.click_id = '', i.${one}, c.${one})` : `i.${one}`)).join(', ')}
FROM (SELECT * FROM installs_v1 WHERE ${where} AND pending = 0) AS i
LEFT JOIN (
  SELECT install_key, click_id, ${of_click.map((one) => `any(t.${one}) AS ${one}`).join(', ')}
  FROM installs_v1 AS t WHERE ${where} AND sign = 1 AND click_id != ''
  GROUP BY install_key, click_id
) AS c USING (install_key, click_id)`
