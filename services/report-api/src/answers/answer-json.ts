import { day_ms } from '@tributary/contracts/limits'
import type { ReportMeta } from '@tributary/contracts/reports'
import { matureUntil } from '../report.ts'
import { type Answer, isUnchanged } from './answer.ts'

/** Answers a page of rows as JSON, or 304. */
export async function answerJson(answer: Answer): Promise<unknown> {
  const { name, requested, reply, now_ms } = answer
  const { rows, missing_rates, whole_days, groups_folded, elapsed_ms } = await answer.readPage(requested.page)
  answer.close({ rows: rows.length, missing_rates, elapsed_ms })
  const notes = {
    ...(missing_rates.length > 0 && { missing_rates }),
    ...(whole_days && { whole_days }),
    ...(groups_folded && { groups_folded }),
  }
  const mature_until_ms = matureUntil(name, requested.days, now_ms)
  const mature_from = inWindow(requested.page, mature_until_ms)
  const tagged = JSON.stringify({ rows, meta: { ...requested.page, mature_from, ...notes } })
  if (isUnchanged(answer, tagged)) return reply.status(304).send()
  return { rows, meta: { ...requested.page, elapsed_ms, mature_until_ms, ...notes } satisfies ReportMeta }
}

/**
 * `mature_until_ms` as far as it matters for the rows: its day inside the window. The time itself differs in each answer,
 * and an earlier one stays true.
 */
function inWindow({ since_ms, until_ms }: Answer['requested']['page'], mature_until_ms: number | undefined) {
  if (mature_until_ms === undefined) return undefined
  return Math.floor(Math.min(Math.max(mature_until_ms, since_ms), until_ms) / day_ms)
}
