import { createServerClient } from '@tributary/client/server-client'
import { type Cost, costKey } from '@tributary/contracts/costs'
import { day_ms, limits } from '@tributary/contracts/limits'
import { columnsOf } from '@tributary/contracts/reports'
import { judgeCost } from '@tributary/domain/costs/judge-cost'
import { requestDefaults, throwCliError } from '../http.ts'
import { csvRecords } from '../ingest/csv-records.ts'
import { countReasons, type RejectedLine } from '../ingest/deliver-batch.ts'
import { openFile, splitLines } from '../ingest/lines.ts'
import { costLines, requireCostColumns } from './cost-lines.ts'
import type { LoadOptions } from './load-costs.ts'

/** The changes that an upload of a file would make; `--dry-run --json` prints them. */
export interface ComparedCosts {
  /** Keys that the service has no cost of. */
  new: number
  changed: number
  equal: number
  /** Lines. */
  rejected: number
}

/**
 * Compares the costs of a file with those of the service, and sends none. An upload of a later time than the file would win over it,
 * which no report says.
 */
export async function compareCosts(
  options: Pick<LoadOptions, 'path' | 'url' | 'key' | 'mapping'>,
): Promise<ComparedCosts & { rejected_reasons: Record<string, number> }> {
  const { costs, rejected, rejected_reasons } = await readCosts(options)
  const days = [...costs.values()].map(({ day }) => day)
  const stored = days.length === 0 ? new Map<string, string>() : await readStored(options, days)
  const counts = { new: 0, changed: 0, equal: 0 }
  for (const [key, cost] of costs) {
    const before = stored.get(key)
    // A cost of 0 is in no report: to take out what is not there changes nothing.
    const isEqual = before === undefined ? cost.cost_micros === 0 : before === figuresOf(cost)
    if (isEqual) counts.equal += 1
    else if (before === undefined) counts.new += 1
    else counts.changed += 1
  }
  return { ...counts, rejected, rejected_reasons }
}

async function readCosts({ path, mapping }: Pick<LoadOptions, 'path' | 'mapping'>) {
  const file = await openFile(path)
  await requireCostColumns(file, mapping)
  const costs = new Map<string, Cost>()
  const rejected_reasons: Record<string, number> = Object.create(null)
  let rejected = 0
  const reject = (cause: Pick<RejectedLine, 'reason' | 'field'>) => {
    rejected += 1
    countReasons(rejected_reasons, [cause])
  }
  const now_ms = Date.now()
  for await (const line of costLines(file, file.open().content, mapping)) {
    if ('reason' in line) {
      reject({ reason: line.reason, field: null })
      continue
    }
    const judged = judgeCost(JSON.parse(line.event.json), now_ms)
    if ('fault' in judged) reject({ reason: judged.fault.reason, field: judged.fault.field ?? null })
    else costs.set(costKey(judged.cost), judged.cost)
  }
  return { costs, rejected, rejected_reasons }
}

type Figures = Pick<Cost, 'cost_micros' | 'currency' | 'clicks' | 'impressions'>
const figuresOf = ({ cost_micros, currency, clicks, impressions }: Figures): string =>
  JSON.stringify([cost_micros, currency, clicks, impressions])

/** The figures of the service by key, of all days from the first to the last one. A window of reports has 365 days. */
async function readStored({ url, key }: Pick<LoadOptions, 'url' | 'key'>, days: readonly string[]) {
  const client = createServerClient({ ...requestDefaults, url, server_key: key })
  const sorted = days.toSorted()
  const [first = '', last = ''] = [sorted[0], sorted.at(-1)]
  const end_ms = Date.parse(last) + day_ms
  const stored = new Map<string, string>()
  for (let since_ms = Date.parse(first); since_ms < end_ms; since_ms += limits.report_window_days_max * day_ms) {
    const until_ms = Math.min(end_ms, since_ms + limits.report_window_days_max * day_ms)
    const { text } = await client.reportCsv('costs', { since_ms, until_ms }).catch(throwCliError)
    for await (const cost of parseCosts(text)) stored.set(costKey(cost), figuresOf(cost))
  }
  return stored
}

async function* parseCosts(text: AsyncIterable<string>): AsyncGenerator<Cost> {
  const columns = columnsOf('costs')
  let isHeader = true
  for await (const { fields } of csvRecords(splitLines(bytesOf(text), limits.report_result_bytes_max))) {
    if (isHeader) isHeader = false
    else if (fields !== null) yield toCost(new Map(columns.map((column, n) => [column, fields[n] ?? ''])))
  }
}

async function* bytesOf(text: AsyncIterable<string>): AsyncGenerator<Buffer> {
  for await (const part of text) yield Buffer.from(part)
}

function toCost(cells: ReadonlyMap<string, string>): Cost {
  const cell = (name: string) => cells.get(name) ?? ''
  // The service put a `'` before a text that a spreadsheet would run (docs/rules.md#csv-answers).
  const text = (name: string) =>
    cell(name).replace(/^'(?=[\s\p{Cc}\p{Default_Ignorable_Code_Point}=+\-@＝＋－＠])/u, '')
  const count = (name: string) => (cell(name) === '' ? null : Number(cell(name)))
  return {
    ...{ day: cell('day'), partner: text('partner'), campaign: text('campaign'), ad_group: text('ad_group') },
    ...{ country: cell('country'), currency: cell('currency'), cost_micros: Math.round(Number(cell('cost')) * 1e6) },
    ...{ clicks: count('clicks'), impressions: count('impressions') },
  }
}
