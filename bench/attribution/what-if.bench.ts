import { randomUUID } from 'node:crypto'
import type { Broker } from '@tributary/broker/broker'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { migrateClickhouse } from '@tributary/clickhouse/schema/migrate'
import type { WhatIfSettings } from '@tributary/contracts/admin/rows/what-if'
import type { Decision } from '@tributary/contracts/attribution/decision'
import { consumers } from '@tributary/contracts/consumers'
import { day_ms } from '@tributary/contracts/limits'
import { topics } from '@tributary/contracts/topics'
import { clickhouseLookups } from '@tributary/deciding/lookups/clickhouse-lookups'
import { whatIf } from '@tributary/deciding/what-if'
import { byInstall } from '@tributary/domain/attribute/verdict'
import { installColumns, installLine } from '@tributary/tables/attribution/install-rows'
import { readInstallsInOrder } from '@tributary/tables/rows/installs-in-order'
import { type Bench, type BenchRow, numberArgument, textArgument } from '../bench.ts'
import { watchCpu } from '../process/driven-process.ts'
import { watchMemory } from '../process/peak-memory.ts'
import { openEmbedded } from '../writer/engines.ts'
import {
  batchOf,
  click_step_ms,
  type Load,
  loadOf,
  openAttributor,
  spreadInstallOf,
  storeClicks,
} from './attributed.ts'

/** The route has the same. */
const [page_installs, batch_installs] = [1000, 2000]
/** Installs of a batch of install-attributor. */
const decided_at_once = 1000
/** Five million installs in five minutes. */
const per_second_min = 16_667
/** The first three change nothing. The next two take the clicks of a fortieth and of half of the installs. The last decides all again. */
const asked: WhatIfSettings[] = [
  {},
  { probabilistic: 'false' },
  { click_window_hours: 720 },
  { click_window_hours: 2 },
  { click_window_hours: 1 },
  { reinstall_days: 3650 },
]

/** Measures what-if over decided installs, every second of which has a click. The engine is in the process, memory included. */
export const bench: Bench = {
  name: 'what-if',
  title: 'what-if: installs decided again (--installs 50000 --clicks 200000; --keep DIR keeps them for the next run)',
  async run(args) {
    const installs = numberArgument(args, 'installs', 50_000)
    const clicks = numberArgument(args, 'clicks', 200_000)
    const engines = await openEmbedded(1, textArgument(args, 'keep'))
    const rows: BenchRow[] = []
    try {
      const { clickhouse, broker } = engines
      await migrateClickhouse({ clickhouse })
      await broker.applyTopics(Object.values(consumers).map(({ topic }) => topic))
      const load = await loadOf(clickhouse, Date.now() - clicks * click_step_ms)
      await storeClicks(clickhouse, { ...load, to: clicks })
      load.stored = Math.max(load.stored, clicks)
      await decideAll({ clickhouse, broker: writing(broker, clickhouse) }, load, installs)
      for (const settings of asked) rows.push(await measure(clickhouse, load.app_id, settings))
    } finally {
      await engines.close()
    }
    const slowest = Math.min(...rows.map(({ installs_per_s }) => Number(installs_per_s)))
    const memory = Math.max(...rows.map(({ rss_mb }) => Number(rss_mb)))
    return {
      rows,
      aims: [
        { what: 'installs/s', aim: `>= ${per_second_min}`, measured: slowest, met: slowest >= per_second_min },
        { what: 'memory, MB', aim: '<= 500', measured: memory, met: memory <= 500 },
      ],
    }
  },
}

/** A log whose decisions are in the table once they are published, as install-writer writes them. */
function writing(broker: Broker, clickhouse: Clickhouse): Broker {
  let offset = 0
  return {
    ...broker,
    async publish(records) {
      const lines = records
        .filter(({ topic }) => topic === topics.installsAttributed.name)
        .map(({ value }) => {
          offset += 1
          const decision = JSON.parse(value!.toString()) as Decision
          return installLine({ decision, sign: 1, place: { topic: 'installs.attributed.v1@a', partition: 0, offset } })
        })
      if (lines.length > 0)
        await clickhouse.insert({
          ...{ table: 'installs_v1', columns: installColumns, lines: lines.join('\n'), token: randomUUID() },
        })
    },
  }
}

/** In the order of their times, so that nothing is left to be decided again. */
async function decideAll(
  engines: { clickhouse: Clickhouse; broker: Broker },
  load: Load,
  installs: number,
): Promise<void> {
  const attributor = openAttributor(engines, load.app_id)
  const all = Array.from({ length: Math.max(0, installs - load.decided) }, (_, n) =>
    spreadInstallOf(load, load.decided + n),
  )
  all.sort(byInstall)
  for (let at = 0; at < all.length; at += decided_at_once)
    await attributor.handle(batchOf(all.slice(at, at + decided_at_once), load.decided + at))
}

async function measure(clickhouse: Clickhouse, app_id: string, settings: WhatIfSettings): Promise<BenchRow> {
  const window = { app_id, since_ms: 0, until_ms: Date.now() + day_ms }
  const cpuSeconds = watchCpu()
  const peakMegabytes = watchMemory()
  const begun = performance.now()
  const steps = whatIf({
    ...{ app: { app_id, clicks_deleted_before_ms: 0 }, lookups: clickhouseLookups(clickhouse) },
    pages: readInstallsInOrder(clickhouse, window, page_installs, new AbortController().signal),
    ...{ settings, batch_installs, now: Date.now },
  })
  for (;;) {
    const { done, value } = await steps.next()
    if (!done) continue
    const seconds = (performance.now() - begun) / 1000
    return {
      ...{ settings: JSON.stringify(settings), installs: value.installs, changed: value.changed },
      installs_per_s: Math.round(value.installs / seconds),
      ...{ cpu_us: Math.round((cpuSeconds() * 1e6) / value.installs), rss_mb: peakMegabytes() },
    }
  }
}
