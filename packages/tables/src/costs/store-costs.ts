import { randomUUID } from 'node:crypto'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import type { Cost } from '@tributary/contracts/costs'
import { CodedError, retrySoon } from '@tributary/contracts/errors'
import { limits } from '@tributary/contracts/limits'
import type { Pool } from 'pg'
import { openCostNumbers } from './cost-numbers.ts'

interface CostEngines {
  clickhouse: Pick<Clickhouse, 'insert' | 'query'>
  pool: Pool
}

/** An accepted upload of one app. */
export interface StoredUpload {
  app_id: string
  /** Time of the figures; 0 without one. */
  as_of_ms: number
  uploaded_at_ms: number
  /** At most one of each key. */
  costs: readonly Cost[]
}

export interface CostStore {
  /**
   * Resolves when the costs are durable, and reports see them. Throws `unavailable`, at once while too many wait: they may be stored or
   * not, and the same upload may come again.
   */
  store(upload: StoredUpload): Promise<void>
}

interface Waiting {
  upload: StoredUpload
  resolve(): void
  reject(error: CodedError): void
}

/**
 * Costs in ClickHouse. A process makes one insert at a time, of all uploads that came meanwhile: each insert is a part that is
 * synced, and many small ones would cost the engine more than their rows.
 */
export function openCosts({ clickhouse, pool }: CostEngines): CostStore {
  const numbers = openCostNumbers({ clickhouse, pool })
  let waiting: Waiting[] = []
  let writing = false

  async function insert(uploads: readonly StoredUpload[]): Promise<void> {
    // 1. Each upload has its number, in the order in which they came. A crash here leaves a gap, which means nothing.
    const taken = await numbers.take(uploads.length)
    const lines = uploads.flatMap((upload, n) => linesOf(upload, taken[n]!))
    // 2. The rows are durable. After a crash the client has no answer and comes again with a later number.
    await clickhouse.insert({ table: 'costs_v1', columns, lines: lines.join('\n'), token: `costs/${randomUUID()}` })
  }
  async function writeAll(): Promise<void> {
    writing = true
    while (waiting.length > 0) {
      const batch = waiting
      waiting = []
      const failed = await insert(batch.map(({ upload }) => upload)).catch(unavailable)
      for (const { resolve, reject } of batch) failed ? reject(failed) : resolve()
    }
    writing = false
  }
  return {
    store: (upload) =>
      new Promise((resolve, reject) => {
        if (waiting.length >= limits.cost_uploads_waiting_max) return reject(unavailable(undefined))
        waiting.push({ upload, resolve, reject })
        if (!writing) void writeAll()
      }),
  }
}

const unavailable = (cause: unknown) => new CodedError('unavailable', { cause, headers: retrySoon })

const costColumns = [
  'day',
  'partner',
  'campaign',
  'ad_group',
  'country',
  'cost_micros',
  'currency',
  'clicks',
  'impressions',
] as const satisfies readonly (keyof Cost)[]
/** The columns of an insert into `costs_v1`, in the order of a line. */
const columns = ['app_id', ...costColumns, 'as_of_ms', 'number', 'uploaded_at_ms']

const linesOf = ({ app_id, as_of_ms, uploaded_at_ms, costs }: StoredUpload, number: string): string[] =>
  costs.map((cost) =>
    JSON.stringify([app_id, ...costColumns.map((column) => cost[column]), as_of_ms, number, uploaded_at_ms]),
  )
