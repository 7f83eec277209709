import type { Report, ReportParams } from '@tributary/client/reports'
import type { ServerClient } from '@tributary/client/server-client'
import type { ReportName } from '@tributary/contracts/reports'
import { startProgress } from './progress.ts'

/** The page of `limit`; without it all rows, in the `meta` of the first page, which ends behind them. */
export async function readReport<N extends ReportName>(
  client: Pick<ServerClient, 'report' | 'reportPages'>,
  name: N,
  params: ReportParams,
): Promise<Report<N>> {
  const first = await client.report(name, params)
  const { since_ms, until_ms, offset, limit } = first.meta
  if (params.limit !== undefined || first.rows.length < limit) return first
  const rows = [...first.rows]
  const progress = startProgress(first.meta)
  try {
    const rest = { ...params, since_ms, until_ms, offset: offset + rows.length }
    for await (const page of client.reportPages(name, rest)) {
      for (const row of page.rows) rows.push(row)
      progress.update(rows.at(-1)?.day, rows.length)
    }
  } finally {
    progress.stop()
  }
  const all = { limit: Math.max(limit, rows.length), rows: offset + rows.length, more: false }
  return { rows, meta: { ...first.meta, ...all } }
}
