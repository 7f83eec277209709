import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Difference } from '@tributary/contracts/admin/reconcile'
import { hour_ms } from '@tributary/contracts/limits'
import { openPostgres } from '@tributary/postgres/postgres'
import type { Pool } from 'pg'
import type { Fleet } from '../fleet.ts'
import type { FleetProcess } from '../fleet-process.ts'
import { CommandFailed, openBucket, operatorOf } from '../operator.ts'
import type { FleetTenant } from '../tenants.ts'
import { faultKinds, faultsOf, type SeededFault } from './seeded-faults.ts'

export interface Reconciled {
  /** The apps that get faults. */
  apps: readonly string[]
  /** Seeds one fault of each kind. */
  seed(): Promise<void>
  /** Ends the questions. Compares what is found with what was seeded, when somebody asks and by the job, each within `ms_max`. */
  end(ms_max: number): Promise<ReconciledResult>
  /** Builds the tables again from the audit store, so that no fault is left but the corrupted objects. Nothing may run. */
  rebuild(): Promise<void>
}

export interface ReconciledResult {
  faults_seeded: number
  /** Seeded faults that a question, or the job, did not find. */
  faults_missed: string[]
  /** Differences that nobody seeded, in whatever question, or by the job. */
  differences_invented: string[]
  /** Questions that were answered while the load ran. */
  reconciles: number
}

/** Pauses between questions, the longer the more there is to compare: the load is to go on beside them. */
const ask_every_ms = 5000
const pause_per_answer = 4
const poll_ms = 3000
/** So much later the hour of the last event is over for the job, which waits ten minutes more. */
const ahead_ms = hour_ms + 15 * 60_000
const clock = new URL('../../standalone/moved-clock.mjs', import.meta.url).href

/** Runs the reconciler beside a load, as a job and for an operator who asks again and again. */
export async function startReconciled(fleet: Fleet, log: (line: string) => void): Promise<Reconciled> {
  const dir = await mkdtemp(join(tmpdir(), 'tributary-reconciled-'))
  // It takes what it needs: a soak is over within hours.
  const reconciler = await fleet.startService('reconciler', { env: { TRIBUTARY_RECONCILE_CORE_PERCENT: '100' } })
  const admin = await fleet.startService('admin-api')
  const tributary = operatorOf(fleet, { admin: admin.url, gateway: fleet.gateways[0]!.url }, dir)
  const pool = openPostgres({
    ...{ url: fleet.engine('postgres').url, pool_max: 2, statement_timeout_ms: 60_000, connect_timeout_ms: 60_000 },
  })
  const audit = await openBucket(fleet)
  const [{ app_id }, { app_id: other_app_id }] = fleet.tenants as [FleetTenant, FleetTenant]
  const { rows } = await pool.query('SELECT company_id FROM apps WHERE app_id = $1', [app_id])
  const { company_id } = rows[0]
  const kinds = faultsOf({ clickhouse: fleet.clickhouse, audit, app_id, other_app_id, company_id })
  const seeded: SeededFault[] = []
  const invented = new Set<string>()
  let reconciles = 0
  const ending = new AbortController()

  /** Null where the reconciler or admin-api was killed meanwhile. */
  async function ask(): Promise<Found[] | null> {
    const answer = await tributary<{ differences: Difference[] }>('reconcile').catch((error: unknown) => {
      // It ends with 1 while there are differences, and prints its answer all the same.
      if (error instanceof CommandFailed && error.stdout.startsWith('{')) return JSON.parse(error.stdout)
      log((error as Error).message.trim())
      return null
    })
    return answer?.differences.map(foundBy) ?? null
  }
  const asking = (async () => {
    while (!ending.signal.aborted) {
      const asked = performance.now()
      const found = await ask()
      if (found !== null) {
        reconciles += 1
        const { surplus } = compareFaults(seeded, found)
        for (const one of surplus) invented.add(one)
        if (surplus.length > 0) log(`among these were invented: ${JSON.stringify(found)}`)
        log(
          `reconcile found ${found.length} differences; ${seeded.length} faults are seeded; ${invented.size} were invented`,
        )
      }
      const pause_ms = Math.max(ask_every_ms, pause_per_answer * (performance.now() - asked))
      await pause(pause_ms, undefined, { signal: ending.signal }).catch(() => {}) // it ended
    }
  })()
  asking.catch(() => {}) // `end` throws it

  /** Differences that the job found; null until it has compared this hour, and so all before it. */
  async function foundByJob(hour: number): Promise<Found[] | null> {
    const { rows: newest } = await pool.query(
      "SELECT max(hour_ms)::float8 AS hour FROM reconciled_hours WHERE app_id = ''",
    )
    if (newest[0].hour === null || newest[0].hour < hour) return null
    const found = await pool.query('SELECT app_id, hour_ms::float8, store, expected, found FROM reconcile_differences')
    return found.rows.map(({ expected, found: there, ...one }) => ({
      ...one,
      surplus: Number(there) - Number(expected),
    }))
  }

  /** What is missed in the end. */
  async function untilFound(how: string, ms_max: number, look: () => Promise<Found[] | null>): Promise<string[]> {
    for (const deadline = Date.now() + ms_max; ; await pause(poll_ms)) {
      const found = await look()
      const { missed, surplus } = compareFaults(seeded, found ?? [])
      for (const one of surplus) invented.add(`${how}: ${one}`)
      if (surplus.length > 0) log(`${how}, among these were invented: ${JSON.stringify(found)}`)
      if ((found !== null && missed.length === 0) || Date.now() > deadline) return missed.map((one) => `${how}: ${one}`)
      log(found === null ? `not compared yet, ${how}` : `not found yet, ${how}: ${missed.join(', ')}`)
    }
  }

  return {
    apps: [app_id, other_app_id],
    async seed() {
      for (const kind of faultKinds) seeded.push(await kinds[kind]())
    },
    async rebuild() {
      await tributary('rebuild', '--from-audit')
      await rm(dir, { recursive: true })
    },
    async end(ms_max) {
      ending.abort()
      try {
        await asking
        // By the clock of all: what came in the last minute is compared by the questions after it.
        const asked = await untilFound('by asking', ms_max, ask)
        const last_hour = Math.floor(Date.now() / hour_ms) * hour_ms
        await compareAnew(reconciler, pool, dir)
        const byJob = await untilFound('by the job', ms_max, () => foundByJob(last_hour))
        return {
          faults_seeded: seeded.length,
          faults_missed: [...asked, ...byJob],
          differences_invented: [...invented],
          reconciles,
        }
      } finally {
        await Promise.all([pool.end(), audit.close()])
      }
    },
  }
}

/**
 * Starts it again with a clock by which the hours of the load are over. It has compared nothing yet, and what questions found, which is
 * stored too, is gone.
 */
async function compareAnew(reconciler: FleetProcess, pool: Pool, dir: string): Promise<void> {
  const file = `${dir}/clock`
  await writeFile(file, String(ahead_ms))
  await reconciler.stop()
  await pool.query('TRUNCATE reconcile_differences, reconciled_hours')
  await reconciler.restart({ NODE_OPTIONS: `--import ${clock}`, TEST_CLOCK_FILE: file })
}

interface Found {
  app_id: string
  hour_ms: number
  store: string
  surplus: number
  examples?: Difference['examples']
}

const foundBy = ({ app_id, hour, store, expected, found, examples }: Difference): Found => ({
  ...{ app_id, hour_ms: Date.parse(hour), store, surplus: found - expected, examples },
})

/** Sums by app, hour, store and direction: too much does not make up for too little. */
function sumsOf(some: readonly Found[]): Map<string, number> {
  const sums = new Map<string, number>()
  for (const { app_id, hour_ms: at_ms, store, surplus } of some) {
    const name = `${app_id} ${new Date(at_ms).toISOString()} ${store} ${surplus < 0 ? 'lacks' : 'has too many'}`
    sums.set(name, (sums.get(name) ?? 0) + Math.abs(surplus))
  }
  return sums
}

/** `missed`: seeded and not found, `surplus`: found and not seeded, by group with their numbers. */
export function compareFaults(seeded: readonly Found[], found: readonly Found[]) {
  const [expected, there] = [sumsOf(seeded), sumsOf(found)]
  const difference = (of: ReadonlyMap<string, number>, without: ReadonlyMap<string, number>) =>
    [...of].flatMap(([name, n]) => (n > (without.get(name) ?? 0) ? [`${name}: ${n - (without.get(name) ?? 0)}`] : []))
  return { missed: difference(expected, there), surplus: difference(there, expected) }
}
