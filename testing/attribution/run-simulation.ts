import type { FraudFlag } from '@tributary/contracts/attribution/verdict'
import { openTestClickhouse } from '../engines/data/test-clickhouse.ts'
import { randomOf } from '../fuzz/random.ts'
import { memoryAttributionApps } from '../twins/attribution-apps.ts'
import { type AttributionRow, expectedReport } from './expected-report.ts'
import { isDatacenter } from './fraud-partners.ts'
import { day_ms, type SimApp } from './history.ts'
import { type FlagQuality, judgeFlags } from './judge-flags.ts'
import { recordsOf } from './records.ts'
import { simulate } from './simulate.ts'
import { openWorld, type World } from './world.ts'

export interface SimulationOptions {
  seed: number
  days: number
  /** See `Simulation`. */
  acts: number
  flood_clicks: number
  log(line: string): void
}

export interface SimulationResult {
  clicks: number
  installs: number
  seconds: number
  /** What the reports of each app say, and what the simulator did. */
  reports: { app: string; found: AttributionRow[]; expected: AttributionRow[] }[]
  flags: FlagQuality[]
}

/** The history ends this long before the clock of the services. */
const rest_days = 16
const batch_records = 1000
const written_ms_max = 900_000

/** Runs a simulated history through the real consumers, and compares reports and flags with what the simulator did. */
export async function runSimulation({ seed, log, ...size }: SimulationOptions): Promise<SimulationResult> {
  const now_ms = Date.now()
  const start_ms = Math.floor(now_ms / day_ms) * day_ms - (size.days + rest_days) * day_ms
  const attributionApps = memoryAttributionApps()
  const [android, ios] = await Promise.all(
    (['android', 'ios'] as const).map(async (platform): Promise<SimApp> => {
      const app_id = `app_${platform}_${seed}`
      attributionApps.add({ app_id, company_id: 'co_simulated', platform })
      return (await attributionApps.find(app_id))!
    }),
  )
  const history = simulate({ android: android!, ios: ios!, start_ms, random: randomOf(seed, 0), ...size })
  const { clicks, installs } = history
  log(`${clicks.length} clicks and ${installs.length} installs of ${size.days} days`)

  const clickhouse = await openTestClickhouse()
  const geo = { lookUp: (ip: string) => ({ country: 'DE', datacenter: isDatacenter(ip) }) }
  const world = await openWorld({ clickhouse, attributionApps, geo, now: () => now_ms })
  try {
    const started = performance.now()
    const records = recordsOf(history, world.partitions, randomOf(seed, 1))
    for (let from = 0; from < records.length; from += batch_records)
      await world.broker.publish(records.slice(from, from + batch_records))
    await world.untilWritten(written_ms_max)
    await settle(world)
    const seconds = (performance.now() - started) / 1000
    log(`${records.length} records were worked off in ${Math.round(seconds)} s`)
    const reports = await Promise.all(
      [android!, ios!].map(async ({ app_id, platform }) => ({
        app: platform,
        found: await world.report(app_id, start_ms - 10 * day_ms, now_ms),
        expected: expectedReport(installs, app_id),
      })),
    )
    const flags = new Map<string, readonly FraudFlag[]>()
    for (const { app_id } of [android!, ios!]) {
      const ids = installs.filter(({ app }) => app.app_id === app_id).map(({ install_uuid }) => install_uuid)
      for (const [id, { verdict }] of await world.decisions(app_id, ids)) flags.set(id, verdict?.fraud_flags ?? [])
    }
    const judged = judgeFlags(installs, ({ install_uuid }) => flags.get(install_uuid) ?? [])
    return { clicks: clicks.length, installs: installs.length, seconds, reports, flags: judged }
  } finally {
    await world.close()
    await clickhouse.close()
  }
}

/** Flooding sources are found by a job, and what it changes is decided again. */
async function settle(world: World): Promise<void> {
  await world.runJobs()
  await world.untilWritten(written_ms_max)
}
