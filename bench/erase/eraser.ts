import { setTimeout as pause } from 'node:timers/promises'
import { openFolderAuditStore } from '@tributary/audit-store/folder'
import { openClickhouseServer } from '@tributary/clickhouse/server'
import { auditRewriting } from '@tributary/eraser/rewrite-audit-objects'
import { runErasures } from '@tributary/eraser/run-erasures'
import { findOlderIntents } from '@tributary/erasure/older-intents'
import { noteLog } from '@tributary/erasure/unread-events'
import { openPostgres } from '@tributary/postgres/postgres'
import { shedStartMemory } from '@tributary/service-kit/service/shed-start-memory'
import { postgresRedecisions } from '@tributary/tables/attribution/postgres-redecisions'
import { memoryBroker } from '@tributary/testing/twins/memory-broker'
import { memoryKeyValue } from '@tributary/testing/twins/memory-key-value'
import { pino } from 'pino'
import { nextMessage, report, watchCpu } from '../process/driven-process.ts'
import { watchMemory } from '../process/peak-memory.ts'
import { benchKeys } from './tenants.ts'

/** The first message to the process of the eraser. */
export interface EraserOrder {
  clickhouse: string
  postgres: string
  audit_dir: string
  run: number
}

const logger = pino({ level: 'warn' })

/** Seconds until the next step began, by step. */
function createStepClock() {
  const seconds: Record<string, number> = {}
  let [step, since] = ['take', performance.now()]
  return {
    begin(next: string) {
      const now = performance.now()
      seconds[step] = (seconds[step] ?? 0) + (now - since) / 1000
      ;[step, since] = [next, now]
    },
    /** Seconds of each step, with the one that is not over. */
    soFar: () => ({ ...seconds, [step]: (seconds[step] ?? 0) + (performance.now() - since) / 1000 }),
  }
}

/** Between two lines about what a run has done so far. */
const line_pause_ms = 30_000

// The bench is over when its parent is gone, whatever the state.
process.once('disconnect', () => process.exit())
const order = (await nextMessage()) as EraserOrder
const pool = openPostgres({
  ...{ url: order.postgres, pool_max: 4, statement_timeout_ms: 60_000, connect_timeout_ms: 10_000 },
})
const clickhouse = await openClickhouseServer({
  ...{ url: order.clickhouse, logger, complete_reads: true, query_timeout_ms: 30_000 },
  ...{ max_open_connections: 8, connect_timeout_ms: 10_000 },
})
const audit = await openFolderAuditStore({ dir: order.audit_dir })
const broker = memoryBroker(12, Date.now)
const clock = createStepClock()
/** Prints what the run has done so far and where its time went, for a run that is ended early. */
async function printSoFar(): Promise<void> {
  const { rows } = await pool.query<{ drained: number; open: number }>(
    `SELECT count(*) FILTER (WHERE drained_at_ms IS NOT NULL)::int AS drained,
       count(*) FILTER (WHERE install_uuid IS NOT NULL OR mark_ms IS NOT NULL)::int AS open FROM erasure_requests`,
  )
  const { drained, open } = rows[0]!
  const longest = Object.entries(clock.soFar()).toSorted(([, a], [, b]) => b - a)
  const steps = longest.slice(0, 12).map(([step, seconds]) => `${step} ${Math.round(seconds)}`)
  console.info(`${drained} requests drained, ${open} not completed; s: ${steps.join(', ')}`)
}
const lines = setInterval(
  () => void printSoFar().catch((error) => console.error(`no figures so far: ${error}`)),
  line_pause_ms,
)
shedStartMemory()
report({ port: 0 })
await nextMessage() // start
const stopped = nextMessage()
const cpuSeconds = watchCpu()
const peakMegabytes = watchMemory()
await runErasures(
  {
    ...{ pool, masterKeys: benchKeys, clickhouse, logger, now: Date.now },
    redecisions: postgresRedecisions({ postgres: pool, broker }),
    keyValue: memoryKeyValue(Date.now),
    noteLog: () => noteLog(broker),
    findOlderWork: (number, installs) => findOlderIntents(broker, number, installs),
    audit: auditRewriting({ pool, masterKeys: benchKeys, audit, now: Date.now, logger }),
    pause: (ms, signal) => pause(ms, undefined, { signal }),
    atStep: clock.begin,
  },
  order.run,
  new AbortController().signal,
)
clock.begin('end of the run')
clearInterval(lines)
await printSoFar()
await stopped
report({ cpu_seconds: cpuSeconds(), rss_mb: peakMegabytes(), steps: clock.soFar() })
await nextMessage()
await Promise.all([pool.end(), clickhouse.close(), audit.close()])
process.disconnect()
