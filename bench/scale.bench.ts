import type { Broker } from '@tributary/broker/broker'
import { topics } from '@tributary/contracts/topics'
import { type Fleet, openFleet } from '@tributary/testing/fleet/fleet'
import type { FleetProcess } from '@tributary/testing/fleet/fleet-process'
import { type Aim, type Bench, type BenchRow, numberArgument } from './bench.ts'
import { buildRequests } from './door/bodies.ts'
import { sendPacedLoad } from './door/load.ts'
import { cpuSeconds } from './process/process-cost.ts'
import { type EventLoad, events_per_envelope, newAppId } from './writer/events.ts'
import { fillLog } from './writer/stages.ts'

const growth_max = 1.15
const written_ms_max = 300_000

/** Measures whether the CPU time per event grows with the number of processes. It excludes the engines. */
export const bench: Bench = {
  name: 'scale',
  title:
    'scale: CPU per event with 1, 2, 3 writers and 1, 2 gateways as processes (--writers 3 --gateways 2 --rows 400000 --seconds 15 --rate 10000)',
  async run(args) {
    const rows = numberArgument(args, 'rows', 400_000)
    const seconds = numberArgument(args, 'seconds', 15)
    const rate = numberArgument(args, 'rate', 10_000)
    const writers: BenchRow[] = []
    for (let count = 1; count <= numberArgument(args, 'writers', 3); count += 1) {
      writers.push(await withFleet(0, count, (fleet) => measureWriters(fleet, rows)))
    }
    const gateways: BenchRow[] = []
    for (let count = 1; count <= numberArgument(args, 'gateways', 2); count += 1) {
      gateways.push(await withFleet(count, 0, (fleet) => measureGateways(fleet, seconds, rate)))
    }
    return { rows: [...writers, ...gateways], aims: [...growthAim(writers), ...growthAim(gateways)] }
  },
}

function growthAim(rows: readonly BenchRow[]): Aim[] {
  const [one] = rows
  if (one === undefined) return []
  const costs = rows.map((row) => Number(row.cpu_us_per_event))
  const measured = Math.round((Math.max(...costs) / costs[0]!) * 1000) / 1000
  const what = `CPU per event of ${one.service}, most against one process`
  return [{ what, aim: `<= ${growth_max}`, measured, met: measured <= growth_max }]
}

async function withFleet(gateways: number, writers: number, measure: (fleet: Fleet) => Promise<BenchRow>) {
  const fleet = await openFleet({ gateways, writers })
  try {
    const row = await measure(fleet)
    console.info(JSON.stringify(row))
    return row
  } finally {
    await fleet.stop()
  }
}

/** A first load warms the processes up, so that the measured load includes no compilation. */
async function measureWriters({ writers, broker, progress, untilWritten }: Fleet, rows: number): Promise<BenchRow> {
  /** Writes a load and returns the number of read events, which includes repeated publishes. */
  const write = async (seed: string) => {
    const { records } = await progress()
    await fillLog(broker, oneDay(seed), rows)
    await untilWritten(written_ms_max)
    return ((await progress()).records - records) * events_per_envelope
  }
  await write('warm')
  const spent = startWatch(writers)
  const events = await write('measured')
  return { service: 'event-writer', processes: writers.length, events, ...spent(events) }
}

const oneDay = (seed: string): EventLoad => ({ app_id: newAppId(), seed, days: 1, until_ms: Date.now() })

/** Each gateway gets the full load: at half the load it would also share sends and audit objects among half the events. */
async function measureGateways(fleet: Fleet, seconds: number, rate: number): Promise<BenchRow> {
  const { gateways, tenants, broker } = fleet
  const requests = buildRequests(tenants, 400)
  const load = async () => {
    const before = await recordCount(broker)
    const reports = await Promise.all(
      gateways.map(({ url }) => sendPacedLoad(Number(new URL(url).port), requests, rate, seconds)),
    )
    const batches = reports.reduce((sum, { ack_ms }) => sum + ack_ms.length, 0)
    // A batch has events of one install, so it is one record.
    if ((await recordCount(broker)) - before !== batches) throw new Error('the log does not hold what was acknowledged')
    return reports.reduce((sum, { acknowledged }) => sum + acknowledged, 0)
  }
  await load()
  const spent = startWatch(gateways)
  const events = await load()
  return { service: 'ingest-gateway', processes: gateways.length, events, ...spent(events) }
}

async function recordCount(broker: Broker): Promise<number> {
  const offsets = await broker.groupOffsets('bench', topics.eventsAccepted.name)
  return offsets.reduce((sum, { end }) => sum + end, 0)
}

function startWatch(processes: readonly FleetProcess[]) {
  const total = () => processes.reduce((sum, one) => sum + cpuSeconds(one.pid()), 0)
  const started = performance.now()
  const before = total()
  return (events: number) => ({
    events_per_second: Math.round(events / ((performance.now() - started) / 1000)),
    cpu_us_per_event: Math.round(((total() - before) / events) * 1e8) / 100,
  })
}
