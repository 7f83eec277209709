import type { ReportMeta } from '@tributary/contracts/reports'
import { secondsHint } from '../parameters.ts'
import { matureUntil } from '../report.ts'
import type { Answer, AnsweredPage } from './answer.ts'
import { partialPeriods } from './partial-periods.ts'

/** All of `meta` but the time that the answer took (docs/rules.md#report-rows). */
export function metaOf(
  { name, requested, now_ms }: Answer,
  { rows, all_rows, missing_rates, whole_days, groups_folded, totals }: AnsweredPage,
): Omit<ReportMeta, 'elapsed_ms'> {
  const { page, group, days } = requested
  const mature_until_ms = matureUntil(name, days, now_ms)
  const partial = all_rows > 0 ? partialPeriods(whole_days ?? page, group) : undefined
  const hint = secondsHint(page)
  return {
    ...page,
    rows: all_rows,
    more: page.offset + rows.length < all_rows,
    ...(mature_until_ms !== undefined && { mature_until_ms }),
    ...(partial && { partial }),
    ...(missing_rates.length > 0 && { missing_rates }),
    ...(whole_days && { whole_days: true }),
    ...(groups_folded && { groups_folded }),
    ...(totals && { totals }),
    ...(hint !== null && { hint }),
  }
}
