import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { migrateClickhouse } from '@tributary/clickhouse/schema/migrate'
import { consumers } from '@tributary/contracts/consumers'
import { type Bench, type BenchRow, numberArgument, percentile, textArgument } from '../bench.ts'
import { watchCpu } from '../process/driven-process.ts'
import { openEmbedded, type WriterEngines } from '../writer/engines.ts'
import {
  batchOf,
  click_step_ms,
  type InstallOf,
  type Load,
  liveInstallOf,
  loadOf,
  openAttributor,
  spreadInstallOf,
  storeClicks,
} from './attributed.ts'

/** Batches that are not measured: they open what stays open. */
const warm_batches = 2

/** Measures install-attributor with more and more clicks stored. Half of the installs have a click. */
export const bench: Bench = {
  name: 'attribute',
  title:
    'attribute: facts to decisions, with clicks stored (--clicks 10000000 --batches 20 --installs 1000; --spread 1 takes installs from all over the time of the clicks, as a replay of days brings them, and not from the last minute; --keep DIR keeps them for the next run)',
  async run(args) {
    const most = numberArgument(args, 'clicks', 10_000_000)
    const batches = numberArgument(args, 'batches', 20)
    const installs = numberArgument(args, 'installs', 1000)
    const installOf = numberArgument(args, 'spread', 0) === 0 ? liveInstallOf : spreadInstallOf
    const engines = await openEmbedded(1, textArgument(args, 'keep'))
    const rows: BenchRow[] = []
    try {
      await migrateClickhouse({ clickhouse: engines.clickhouse })
      await engines.broker.applyTopics(Object.values(consumers).map(({ topic }) => topic))
      const load = await loadOf(engines.clickhouse, Date.now() - most * click_step_ms)
      for (const clicks of [most / 10, most]) {
        await storeClicks(engines.clickhouse, { ...load, to: clicks })
        load.stored = Math.max(load.stored, clicks)
        rows.push({ clicks: load.stored, ...(await measure(engines, { ...load, batches, installs, installOf })) })
        load.decided += (batches + warm_batches) * installs
      }
    } finally {
      await engines.close()
    }
    const [few, many] = rows.map((row) => row as Record<string, number>) as [
      Record<string, number>,
      Record<string, number>,
    ]
    const growth = Math.round((100 * many.batch_ms_p50!) / few.batch_ms_p50!) / 100
    return {
      rows,
      aims: [
        { what: 'installs/s', aim: '>= 2000', measured: many.installs_per_s!, met: many.installs_per_s! >= 2000 },
        { what: 'time of a batch, most clicks to a tenth', aim: '<= 1.2', measured: growth, met: growth <= 1.2 },
      ],
    }
  },
}

type Measured = Load & { batches: number; installs: number; installOf: InstallOf }

async function measure({ clickhouse, broker }: WriterEngines, given: Measured): Promise<BenchRow> {
  const attributor = openAttributor({ clickhouse, broker }, given.app_id)
  const times: number[] = []
  let cpuSeconds = watchCpu()
  for (let n = 0; n < given.batches + warm_batches; n += 1) {
    if (n === warm_batches) cpuSeconds = watchCpu()
    const from = given.stored + given.decided + n * given.installs
    const batch = batchOf(
      Array.from({ length: given.installs }, (_, at) => given.installOf(given, from + at)),
      from,
    )
    const begun = performance.now()
    await attributor.handle(batch)
    if (n >= warm_batches) times.push(performance.now() - begun)
  }
  const cpu_ms = (1000 * cpuSeconds()) / given.batches
  const whole_ms = times.reduce((sum, ms) => sum + ms, 0)
  return {
    installs_per_s: Math.round((1000 * given.batches * given.installs) / whole_ms),
    batch_ms_p50: Math.round(percentile(times, 0.5)),
    batch_ms_p99: Math.round(percentile(times, 0.99)),
    batch_cpu_ms: Math.round(cpu_ms),
    ...(await partsOf(clickhouse)),
  }
}

/** Parts of the tables of clicks: a look-up reads each of them. */
async function partsOf(clickhouse: Clickhouse): Promise<BenchRow> {
  const [parts] = await clickhouse.query<BenchRow>(
    `SELECT countIf(table = 'click_keys_v1') AS click_keys_parts, countIf(table = 'clicks_raw_v1') AS clicks_parts
     FROM system.parts WHERE active AND database = 'tributary'`,
  )
  return parts!
}
