import { installPartition } from '@tributary/broker/partition'
import { limits } from '@tributary/contracts/limits'
import { topics } from '@tributary/contracts/topics'
import { type Fleet, openFleet } from '@tributary/testing/fleet/fleet'
import { type Bench, type BenchRow, numberArgument } from './bench.ts'
import { residentMegabytes } from './process/process-cost.ts'

const rss_mb_max = 600
const { name: topic, partitions } = topics.eventsAccepted
const app_id = 'app_worst'

/**
 * Measures the writer on the largest rows of the smallest events: 500 events in a request with headers of the allowed
 * length, so that each row repeats 1.7 KB of the envelope. All partitions hold as much as a consumer fetches.
 */
export const bench: Bench = {
  name: 'worst-input',
  title: 'worst-input: event-writer on the largest allowed rows, in all partitions (--requests 300 per partition)',
  async run(args) {
    const requests = numberArgument(args, 'requests', 300)
    const fleet = await openFleet({})
    try {
      const usual = await measure(fleet, 'usual', requests, '')
      const worst = await measure(fleet, 'worst', requests, 'x'.repeat(limits.stored_header_chars_max))
      const share = Math.round((Number(worst.events_per_s) / Number(usual.events_per_s)) * 100) / 100
      const rss = Math.max(Number(usual.rss_mb), Number(worst.rss_mb))
      return {
        rows: [usual, worst],
        aims: [
          { what: 'RSS of the writer, MB, peak', aim: `<= ${rss_mb_max}`, measured: rss, met: rss <= rss_mb_max },
          { what: 'events/s against usual envelopes', aim: '>= 0.5', measured: share, met: share >= 0.5 },
        ],
      }
    } finally {
      await fleet.stop()
    }
  },
}

async function measure(fleet: Fleet, input: string, requests: number, header: string): Promise<BenchRow> {
  for (let partition = 0; partition < partitions; partition += 1) await fill(fleet, input, partition, requests, header)
  const events = requests * partitions * limits.sdk_batch_events_max
  const started = performance.now()
  const writer = await fleet.startWriter()
  let rss_mb = 0
  const watch = setInterval(() => {
    rss_mb = Math.max(rss_mb, residentMegabytes(writer.pid()))
  }, 100)
  await fleet.untilWritten(600_000)
  clearInterval(watch)
  const events_per_s = Math.round(events / ((performance.now() - started) / 1000))
  await writer.stop()
  const row = { input, events, events_per_s, rss_mb }
  console.info(JSON.stringify(row))
  return row
}

async function fill({ broker }: Fleet, input: string, partition: number, requests: number, header: string) {
  const install_uuid = installOf(input, partition)
  for (let n = 0; n < requests; n += 1) {
    const events = Array.from({ length: limits.sdk_batch_events_max }, (_, id) => ({
      event_id: `${n}-${id}`,
      event_name: 'e',
    }))
    const envelope = {
      ...{ v: 1, company_id: 'co_worst', app_id, platform: 'android', source: 'sdk', install_uuid },
      ...{
        received_at_ms: Date.now(),
        ip: '192.0.2.1',
        audit_key: `audit/2026/01/01/co_worst/${app_id}/1-a-1.jsonl.gz`,
      },
      ...{ user_agent: header, sdk: header, sdk_platform: header, events },
    }
    await broker.publish([{ topic, partition, key: install_uuid, value: Buffer.from(JSON.stringify(envelope)) }])
  }
}

/** An install of this partition. */
function installOf(input: string, partition: number): string {
  for (let n = 0; ; n += 1) {
    const install_uuid = `${input}-${n}`
    if (installPartition(app_id, install_uuid, partitions) === partition) return install_uuid
  }
}
