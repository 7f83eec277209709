import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Broker } from '@tributary/broker/broker'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { type CutPart, createPartCheck, reloadTable } from '@tributary/clickhouse/repair/broken-parts'
import { consumers } from '@tributary/contracts/consumers'
import type { TableName } from '@tributary/contracts/tables'
import type { Gate } from '@tributary/service-kit/service/disk-watch'
import { every } from '@tributary/service-kit/service/every'
import type { Trouble } from '@tributary/service-kit/service/health'
import type { Service } from '@tributary/service-kit/service/run-service'
import { sharedMetric } from '@tributary/service-kit/service/shared-metric'
import type { ReplayNeeded } from '@tributary/service-kit/service/troubles/replay-needed'
import { completeInstalls } from '@tributary/tables/attribution/complete-installs'
import { type Losses, repairTables } from '@tributary/tables/repair/repair-tables'
import { Counter, type Registry } from 'prom-client'
import { writePrivateFile } from '../local-secrets.ts'

export interface WholeTables {
  /** The log is to be read again from its earliest record: tables may lack events that it holds. */
  reread: boolean
  /** Notes that the log is read again; call it once that is sure. */
  settle(): Promise<void>
}

/** Far less than the five minutes for which the engine keeps the parts that it has merged. */
const part_check_pause_default_ms = 60_000

export interface WholeTablesOptions {
  data_dir: string
  /** Tables are filled again only while there is space. */
  disk: Gate
  /** Takes what only a replay fills. */
  needed: Pick<ReplayNeeded, 'note'>
  part_check_pause_ms?: number
  /** Tables and log were removed both (events-gone.ts). */
  events_gone?: boolean
  /** Readers of raw rows have to read all again. */
  startEpoch?: () => Promise<void>
}

/**
 * Finds broken parts of the embedded engine and tables that lack events, and fills those again that others can fill;
 * nobody may write yet. From then on it looks at every new part. Everything found is in the log, in a metric and,
 * as long as it is not repaired, in `/health`.
 */
export async function keepTablesWhole(
  clickhouse: Clickhouse,
  broker: Broker,
  {
    data_dir,
    disk,
    needed,
    part_check_pause_ms = part_check_pause_default_ms,
    events_gone = false,
    startEpoch,
  }: WholeTablesOptions,
  service: Service,
): Promise<WholeTables> {
  const { logger, registry, troubles } = service
  const marker = join(data_dir, 'read-log-again')
  // `tributary backup` writes it: its copy has no table that views fill.
  const incomplete = join(data_dir, 'fill-tables-again')
  const repair = await repairTables({
    clickhouse,
    goesOn: await findOpenPositions(broker),
    everything: existsSync(incomplete),
    fix: { installs_v1: completeInstalls },
    logger,
    beforeRefill: async (lost) => {
      await disk.opened(new AbortController().signal)
      for (const trouble of filledByReplay(lost)) needed.note(trouble.message, trouble)
      // Tables that were filled again no longer differ, so a process that dies now could not tell by them.
      writePrivateFile(marker, 'Tables were filled again. Deleted once the log is read again.\n')
    },
  })
  // A backup was put back, or rows are gone: readers have rows that the tables lack, or read some a second time.
  const differs = existsSync(incomplete) || repair.lost_events > 0 || repair.reread.length + repair.beyond.length > 0
  if (differs || events_gone) await startEpoch?.()
  rmSync(incomplete, { force: true })
  const broken = brokenParts(registry)
  for (const { table } of repair.broken) broken.inc({ table })
  if (events_gone) needed.note(goneTrouble.code, goneTrouble)
  const lasting = filledByNoReplay(repair)
  troubles.push(() => lasting)
  const found = [...filledByReplay(repair), ...(events_gone ? [goneTrouble] : []), ...lasting]
  for (const { code, message, fix } of found) logger.error({ code, fix }, message)
  watchParts(clickhouse, service, broken, part_check_pause_ms)
  return {
    reread: existsSync(marker),
    async settle() {
      await repair.closeParts()
      rmSync(marker, { force: true })
    },
  }
}

async function findOpenPositions(broker: Broker) {
  const { name, topic } = consumers.eventWriter
  const offsets = await broker.groupOffsets(name, topic.name)
  return offsets.map(({ partition, committed, earliest }) => ({ partition, offset: committed ?? earliest }))
}

/** What the log holds of it comes back by itself. */
const reread_now = 'The log is read again and brings what it still holds.'
/** Tables that a replay fills, of those that are filled from the log. */
const replayed: readonly string[] = ['clicks_raw_v1', 'postbacks_raw_v1'] satisfies TableName[]

function filledByReplay({ reread, lost_events }: Losses): Trouble[] {
  const tables = reread.filter((table) => replayed.includes(table))
  const fix = 'For what is older: npx tributary replay --from-audit'
  const events = `At least ${lost_events} rows of events_raw_v1 were lost. ${reread_now}`
  const rows = `Rows of ${tables.join(', ')} were lost. ${reread_now}`
  return [
    ...(lost_events > 0 ? [{ code: 'events_lost', message: events, fix, refuses: false }] : []),
    ...(tables.length > 0 ? [{ code: 'rows_lost', message: rows, fix, refuses: false }] : []),
  ]
}

function filledByNoReplay({ reread, beyond }: Losses): Trouble[] {
  const tables = reread.filter((table) => !replayed.includes(table))
  const messages = [
    ...(tables.length > 0 ? [`Rows of ${tables.join(', ')} were lost. ${reread_now}`] : []),
    ...(beyond.length > 0 ? [`Rows of ${beyond.join(', ')} were lost, and nothing fills these tables again.`] : []),
  ]
  return messages.map((message) => ({ code: 'rows_lost', message, refuses: false }))
}

const goneTrouble: Trouble = {
  code: 'events_lost',
  message:
    'Tables and log are empty, and the audit store holds requests of before: their events are gone, unless all of them were rejected.',
  fix: 'npx tributary replay --from-audit',
  refuses: false,
}

/** Takes parts that were cut off out of use, as long as those that they were merged from are there. */
function watchParts(clickhouse: Clickhouse, service: Service, broken: BrokenParts, pause_ms: number): void {
  const { logger, registry, onClose, troubles } = service
  const findCutParts = createPartCheck(clickhouse)
  const reported = new Set<string>()
  const away = new Set<string>()
  let hopeless: CutPart[] = []
  troubles.push(() => hopeless.map(cutTrouble))

  async function work() {
    const cut = await findCutParts()
    hopeless = cut.filter(({ restorable }) => !restorable)
    for (const { table, name, restorable } of cut.filter((part) => !reported.has(nameOf(part)))) {
      reported.add(nameOf({ table, name }))
      broken.inc({ table })
      logger.error({ table, part: name, restorable }, 'part of a table was cut off, by a full disk most likely')
    }
    // Loading takes every cut part of the table away, so one that nothing replaces must wait for the next start.
    for (const { table } of cut) if (!hopeless.some((part) => part.table === table)) away.add(table)
    // A table whose loading fails is not there at all, until a later run has loaded it.
    for (const table of away) {
      await reloadTable(clickhouse, table)
      away.delete(table)
    }
  }
  const checking = every({ name: 'part_check', pause_ms, logger, registry, work })
  onClose('part check', () => checking.close())
}

const nameOf = ({ table, name }: Pick<CutPart, 'table' | 'name'>) => `${table}/${name}`

const cutTrouble = ({ table, name }: CutPart): Trouble => ({
  code: 'part_broken',
  message: `Part ${name} of ${table} was cut off on the disk.`,
  fix: 'The next start repairs it: stop and start.',
  refuses: false,
})

type BrokenParts = Counter<'table'>

const brokenParts = (registry: Registry): BrokenParts =>
  sharedMetric(registry, Counter, {
    name: 'tributary_broken_parts_total',
    help: 'Parts of tables of the embedded engine that were found broken.',
    labelNames: ['table'],
  })
