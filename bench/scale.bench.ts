import type { Broker } from '@tributary/broker/broker'
import { topics } from '@tributary/contracts/topics'
import { type Fleet, openFleet } from '../infra/fleet/fleet.ts'
import type { FleetProcess } from '../infra/fleet/fleet-process.ts'
import { type Bench, type BenchRow, numberArgument } from './bench.ts'
import { buildRequests } from './door/bodies.ts'
import { sendLoad } from './door/load.ts'
import { cpuSeconds } from './process/process-cost.ts'
import { type EventLoad, newAppId } from './writer/events.ts'
import { fillLog } from './writer/stages.ts'

const growth_max = 1.15
const written_ms_max = 300_000

/** Whether the work of an event grows with the number of processes: CPU of our processes, not of the engines. */
export const bench: Bench = {
  name: 'scale',
  title: 'scale: CPU per event with 1, 2, 3 writers and 1, 2 gateways as processes (--rows 400000 --seconds 15)',
  async run(args) {
    const rows = numberArgument(args, 'rows', 400_000)
    const seconds = numberArgument(args, 'seconds', 15)
    const table: BenchRow[] = []
    for (const count of [1, 2, 3]) table.push(await withFleet(0, count, (fleet) => measureWriters(fleet, rows)))
    for (const count of [1, 2]) table.push(await withFleet(count, 0, (fleet) => measureGateways(fleet, seconds)))
    const growth = (service: string): number => {
      const costs = table.filter((row) => row.service === service).map((row) => Number(row.cpu_us_per_event))
      return Math.round((Math.max(...costs) / costs[0]!) * 1000) / 1000
    }
    const aims = ['event-writer', 'ingest-gateway'].map((service) => {
      const measured = growth(service)
      return {
        what: `CPU per event of ${service}, most against one process`,
        aim: `<= ${growth_max}`,
        measured,
        met: measured <= growth_max,
      }
    })
    return { rows: table, aims }
  },
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

/** A first load warms the processes up, so that what each of them compiles once is no work of events. */
async function measureWriters({ writers, broker, untilWritten }: Fleet, rows: number): Promise<BenchRow> {
  const write = async (seed: string) => {
    await fillLog(broker, oneDay(seed), rows)
    await untilWritten(written_ms_max)
  }
  await write('warm')
  const spent = startWatch(writers)
  await write('measured')
  return { service: 'event-writer', processes: writers.length, events: rows, ...spent(rows) }
}

const oneDay = (seed: string): EventLoad => ({ app_id: newAppId(), seed, days: 1, until_ms: Date.now() })

async function measureGateways({ gateways, tenants, broker }: Fleet, seconds: number): Promise<BenchRow> {
  const requests = buildRequests(tenants, 400)
  const connections = 32 / gateways.length
  const load = async () => {
    const before = await recordCount(broker)
    const reports = await Promise.all(
      gateways.map(({ url }) => sendLoad(Number(new URL(url).port), requests, connections, seconds)),
    )
    const batches = reports.reduce((sum, { ack_ms }) => sum + ack_ms.length, 0)
    // A batch is of one install: each is a record.
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
