import { Readable } from 'node:stream'
import { limits } from '@tributary/contracts/limits'
import { columnsOf, isGrouped } from '@tributary/contracts/reports'
import { csv_type, csvLine, csvLines } from '@tributary/service-kit/http/csv'
import { allPages } from './all-pages.ts'
import { type Answer, type AnsweredPage, isUnchanged, type Totals } from './answer.ts'
import { metaOf } from './meta.ts'

type CsvPage = AnsweredPage & { isLast: boolean }

/**
 * Answers rows as CSV: the page of `limit`, or all rows without it (docs/rules.md#csv-answers). A failure
 * before the first byte is a coded error. After it only the end of the connection can tell that rows are missing.
 */
export async function answerCsv(answer: Answer): Promise<unknown> {
  const { name, requested, reply, readPage } = answer
  const columns = columnsOf(name, requested)
  const pages: AsyncGenerator<CsvPage> = requested.all_rows
    ? allPages(readPage, requested.page, isGrouped(name) ? limits.report_grouped_rows_max + 1 : undefined)
    : onePage(answer)
  const { value: first } = (await pages.next()) as { value: CsvPage }
  const meta = metaOf(answer, first)
  const { missing_rates } = first
  reply.type(csv_type).header('content-disposition', `attachment; filename="${fileName(answer)}"`)
  if (!requested.all_rows) reply.header('x-rows', String(meta.rows))
  if (meta.mature_until_ms !== undefined) reply.header('x-mature-until-ms', String(meta.mature_until_ms))
  if (meta.whole_days) reply.header('x-whole-days', 'true')
  if (meta.groups_folded) reply.header('x-groups-folded', 'true')
  if (missing_rates.length > 0) {
    reply.header('x-missing-rates', missing_rates.slice(0, limits.report_missing_rates_max).join(','))
  }
  const begin = csvLine(columns) + csvLines(columns, first.rows)
  const totals: Totals = { rows: first.rows.length, missing_rates, elapsed_ms: first.elapsed_ms }
  const rest: Rest = { columns, begin, totals, pages }
  const isWhole = first.isLast || (requested.is_window_given && (await readOn(rest)))
  if (!isWhole) return reply.send(Readable.from(streamLines(answer, rest)))
  answer.close(totals)
  return isUnchanged(answer, JSON.stringify(meta) + rest.begin) ? reply.status(304).send() : rest.begin
}

/** Reads further pages, so that the answer can have a tag. False if there are more than it may wait for. */
async function readOn(rest: Rest): Promise<boolean> {
  const { columns, totals, pages } = rest
  const mayWait = () =>
    rest.begin.length <= limits.report_csv_tagged_chars_max && totals.elapsed_ms <= limits.report_csv_tagged_ms_max
  while (mayWait()) {
    const { value: page, done } = await pages.next()
    if (done) return true
    totals.rows += page.rows.length
    totals.elapsed_ms += page.elapsed_ms
    rest.begin += csvLines(columns, page.rows)
    if (page.isLast) return true
  }
  return false
}

/** Such as `events-2026-03-01-to-2026-03-31.csv`: the UTC days of the window. */
function fileName({ name, requested: { page } }: Answer): string {
  const day = (ms: number) => new Date(Math.max(-date_ms_max, Math.min(ms, date_ms_max))).toISOString().split('T', 1)[0]
  return `${name}-${day(page.since_ms)}-to-${day(page.until_ms - 1)}.csv`
}

/** The end of what a Date can hold. A window may be of any time. */
const date_ms_max = 8.64e15

async function* onePage({ readPage, requested }: Answer): AsyncGenerator<CsvPage> {
  yield { ...(await readPage(requested.page)), isLast: true }
}

interface Rest {
  columns: readonly string[]
  /** The lines of the pages that are read. */
  begin: string
  /** Those of these pages, whose rows need not stay in memory. */
  totals: Totals
  pages: AsyncGenerator<CsvPage>
}

/** All lines. An error resets the connection: after an orderly end a client without chunks would take the file for whole. */
async function* streamLines({ reply, close }: Answer, { columns, begin, totals, pages }: Rest): AsyncGenerator<string> {
  totals.end = 'client_left'
  try {
    yield begin
    for await (const { rows, elapsed_ms } of pages) {
      totals.rows += rows.length
      totals.elapsed_ms += elapsed_ms
      if (rows.length > 0) yield csvLines(columns, rows)
    }
    totals.end = undefined
  } catch (cause) {
    if (!reply.raw.destroyed) Object.assign(totals, { end: 'failed', cause })
    reply.raw.socket?.resetAndDestroy()
    throw cause
  } finally {
    close(totals)
  }
}
