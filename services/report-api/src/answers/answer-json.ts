import type { ReportMeta } from '@tributary/contracts/reports'
import { type Answer, isUnchanged } from './answer.ts'
import { metaOf } from './meta.ts'

/** Answers a page of rows as JSON, or 304. */
export async function answerJson(answer: Answer): Promise<unknown> {
  const page = await answer.readPage(answer.requested.page)
  const { rows, missing_rates, elapsed_ms } = page
  answer.close({ rows: rows.length, missing_rates, elapsed_ms })
  const meta = metaOf(answer, page)
  if (isUnchanged(answer, JSON.stringify({ rows, meta }))) return answer.reply.status(304).send()
  return { rows, meta: { ...meta, elapsed_ms } satisfies ReportMeta }
}
