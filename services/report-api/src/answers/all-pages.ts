import { CodedError } from '@tributary/contracts/errors'
import { limits } from '@tributary/contracts/limits'
import type { ReportPage } from '../parameters.ts'

interface Row {
  /** The first day of the period that the row is of; absent in rows of the whole window, which are on one page. */
  day?: string | undefined
}

/**
 * All rows of a report from an offset on (docs/decisions/reports.md#an-export-reads-its-rows-by-periods). `readPage` gives one page. The
 * next page begins at the period that the last one may have cut. So one statement reads all rows of a period, and a write meanwhile can
 * neither double a row nor lose one. Throws `unavailable` if a period of more rows than a page has changed so much that its rows do not fit
 * together.
 */
export async function* allPages<Page extends { rows: readonly Row[] }>(
  readPage: (page: ReportPage) => Promise<Page>,
  from: ReportPage,
  page_rows: number = limits.report_csv_page_rows,
): AsyncGenerator<Page & { isLast: boolean }> {
  let next: ReportPage = { ...from, limit: page_rows }
  /** The last row that was given of a period that is larger than a page. */
  let given: Row | null = null
  for (;;) {
    const page = await readPage(next)
    const isLast = page.rows.length < page_rows
    const rows: readonly Row[] = given === null ? page.rows : rowsAfter(given, page.rows)
    const open = page.rows.at(-1)
    if (isLast || open?.day === undefined) return yield { ...page, rows, isLast: true }
    const complete = rows.filter(({ day }) => day !== open.day)
    if (complete.length > 0) {
      given = null
      next = { ...next, since_ms: Math.max(next.since_ms, Date.parse(open.day)), offset: 0 }
      yield { ...page, rows: complete, isLast }
    } else {
      given = open
      // The last row comes again, so that one can see where the rest begins.
      next = { ...next, offset: next.offset + page_rows - 1 }
      yield { ...page, rows, isLast }
    }
  }
}

function rowsAfter(given: Row, rows: readonly Row[]): readonly Row[] {
  const at = rows.findIndex((row) => keyOf(row) === keyOf(given))
  if (at === -1) throw new CodedError('unavailable', { message: 'The rows moved while they were read.' })
  return rows.slice(at + 1)
}

/** The texts of a row, and the sequence index of a postback, are its grouping fields. */
const keyOf = (row: Row): string =>
  JSON.stringify(
    Object.entries(row).filter(([field, value]) => typeof value === 'string' || field === 'sequence_index'),
  )
