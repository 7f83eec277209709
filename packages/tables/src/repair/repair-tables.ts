import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { type BrokenPart, closeBrokenPart, findBrokenParts } from '@tributary/clickhouse/repair/broken-parts'
import { readViewSources } from '@tributary/clickhouse/schema/view-sources'
import { derivedOf, rereadTables, settledTables, stampTables, sweptFrom } from '@tributary/contracts/tables'
import { readRawExpired } from '../events/raw-expired.ts'
import { findDifferences, type GoesOnAt } from './compare-tables.ts'
import { emptySettled, refillTables, stampAgain } from './refill-tables.ts'

export interface RepairOptions {
  clickhouse: Clickhouse
  goesOn: readonly GoesOnAt[]
  /** Every table that views fill is filled again, whatever it holds. */
  everything?: boolean
  logger: { info(fields: object, message: string): void; error(fields: object, message: string): void }
  /** Makes what is left of a table that lost rows fit together, before others are filled from it; by table. */
  fix?: Readonly<Record<string, (clickhouse: Clickhouse) => Promise<void>>>
  /**
   * Called before the first table is emptied: from then on the log must be read again, also after a crash, and nothing shows any more
   * what was lost.
   */
  beforeRefill(lost: Losses): Promise<void>
}

export interface Losses {
  /** Rows of `events_raw_v1` are gone: only the log and the audit store have them. */
  lost_events: number
  /** Tables that lost rows, which the log brings back as far as it still holds them. */
  reread: string[]
  /** Tables that lost rows and that nothing fills again. */
  beyond: string[]
}

export interface Repair extends Losses {
  broken: BrokenPart[]
  refilled: string[]
  /** Forgets the broken parts, once the log is sure to be read again. */
  closeParts(): Promise<void>
}

const raw = 'events_raw_v1'
/** The migrator has run before and has recorded again what was lost here. */
const records = 'schema_migrations_v1'

/**
 * Finds out at the start of an engine whether tables lack rows, and fills those again that views fill from others.
 * Nobody may write meanwhile. Killed half-way it does the same at the next start.
 */
export async function repairTables(options: RepairOptions): Promise<Repair> {
  const { clickhouse, goesOn, everything = false, fix = {}, logger, beforeRefill } = options
  const broken = await findBrokenParts(clickhouse)
  const differences = everything ? [] : await findDifferences(clickhouse, goesOn)
  for (const { table, name } of broken) logger.error({ table, part: name }, 'part of a table is broken')
  for (const counts of differences) logger.error(counts, 'table differs from the events that it is made of')
  // Where nothing is compared, nobody knows how many.
  const at_least = everything && broken.some(({ table }) => table === raw) ? 1 : 0
  const surpluses = differences.map((one) => (derivedOf(one.table).from === raw ? surplus(one) : 0))
  const lost_events = Math.max(at_least, ...surpluses)

  const sources = await readViewSources(clickhouse)
  const damaged = new Set(broken.map(({ table }) => table))
  const wanted = new Set(everything ? sources.keys() : differences.map(({ table }) => table))
  for (const table of damaged) {
    const made = sweptFrom[table] ?? table
    if (sources.has(made)) wanted.add(made)
  }
  const reread = [...damaged].filter((table) => rereadTables.has(table))
  // Views have rows that their source lost: what is read again would be there twice under two identities of the log.
  for (const { source, target } of sources.values()) if (reread.includes(source)) wanted.add(target)
  // Nothing else has the sums of days whose raw events have expired.
  const hasExpired = damaged.size > 0 && (await readRawExpired(clickhouse)).size > 0
  const beyond = [...damaged].filter(
    (table) =>
      ![raw, records, ...stampTables, ...settledTables, ...reread].includes(table) &&
      (hasExpired || !sources.has(sweptFrom[table] ?? table)),
  )
  // Stamps that lost rows are smaller than they were, so figures go first.
  if (damaged.size > 0 || wanted.size > 0) await emptySettled(clickhouse)
  if (wanted.size > 0 || reread.length > 0) await beforeRefill({ lost_events, reread, beyond })
  for (const table of reread) await fix[table]?.(clickhouse)
  const refilled = wanted.size === 0 ? [] : await refillTables({ clickhouse, tables: wanted, logger })
  // The settler finds no day without a stamp.
  if (stampTables.some((table) => damaged.has(table))) await stampAgain(clickhouse)
  return {
    ...{ broken, refilled, lost_events, reread, beyond },
    closeParts: async () => {
      const kept = new Set([raw, ...reread, ...beyond])
      for (const part of broken) await closeBrokenPart(part, kept.has(part.table))
    },
  }
}

const surplus = ({ counted, expected }: { counted: number; expected: number }) => counted - expected
