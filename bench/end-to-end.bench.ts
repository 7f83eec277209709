import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startStandaloneProcess, waitUntilWritten } from '@tributary/testing/standalone/standalone-process'
import { type Bench, numberArgument, percentile, profileFlags } from './bench.ts'
import { sendEvents } from './end-to-end/send-events.ts'

const probe_pause_ms = 500

/** Measures standalone under a paced load: events per second until queryable, freshness and memory. */
export const bench: Bench = {
  name: 'end-to-end',
  title:
    'end-to-end: standalone under load, acknowledged to queryable (--seconds 60 --rate 30000 events/s --connections 64 --cpu-prof FOLDER)',
  async run(args) {
    const seconds = numberArgument(args, 'seconds', 60)
    const rate = numberArgument(args, 'rate', 30_000)
    const connections = numberArgument(args, 'connections', 64)
    const data_dir = mkdtempSync(join(tmpdir(), 'tributary-bench-e2e-'))
    const standalone = await startStandaloneProcess({ data_dir, flags: profileFlags(args) })
    try {
      const demo = standalone.demo()
      const reported = sendEvents({ url: standalone.url, demo, seconds, rate, connections })
      const stop = { done: false }
      const watching = watch(standalone.url, demo.IOS_SERVER_KEY ?? '', standalone.pid, stop)
      const report = await reported
      stop.done = true
      const load_ended = performance.now()
      await waitUntilWritten(standalone.url, data_dir)
      const written_seconds = report.seconds + (performance.now() - load_ended) / 1000
      const { freshness_ms, rss_mb } = await watching
      const counted = await countEvents(standalone.url, demo.SERVER_KEY ?? '')
      const per_second = Math.round(report.acknowledged / written_seconds)
      const fresh = Math.round(percentile(freshness_ms, 0.99))
      return {
        rows: [
          {
            acknowledged: report.acknowledged,
            counted,
            events_per_second: per_second,
            ack_p99_ms: Math.round(report.ack_p99_ms),
            freshness_p50_ms: Math.round(percentile(freshness_ms, 0.5)),
            freshness_p99_ms: fresh,
            rss_mb,
          },
        ],
        aims: [
          {
            what: 'events/s, acknowledged to queryable',
            aim: '>= 25000',
            measured: per_second,
            met: per_second >= 25_000,
          },
          { what: 'freshness p99, ms', aim: '<= 2000', measured: fresh, met: fresh <= 2000 },
          { what: 'peak RSS, MB', aim: '<= 1500', measured: rss_mb, met: rss_mb <= 1500 },
          {
            what: 'counted - acknowledged',
            aim: '0',
            measured: counted - report.acknowledged,
            met: counted === report.acknowledged,
          },
        ],
      }
    } finally {
      await standalone.stop('SIGTERM')
      rmSync(data_dir, { recursive: true, force: true })
    }
  },
}

/** Sends a probe event of another app now and then, and polls the report until it is counted. */
async function watch(url: string, key: string, pid: number, stop: { done: boolean }) {
  const freshness_ms: number[] = []
  let rss_mb = 0
  const headers = { authorization: `Bearer ${key}` }
  for (let sent = 1; !stop.done; sent += 1) {
    const now = Date.now()
    const probe = { event_id: `p-${sent}`, event_name: 'probe', event_ts_ms: now, install_uuid: 'probe' }
    const answer = await fetch(`${url}/s2s/event`, { method: 'POST', headers, body: JSON.stringify(probe) })
    if (!answer.ok) throw new Error(`probe refused: ${await answer.text()}`)
    const acknowledged_at = performance.now()
    while ((await countEvents(url, key)) < sent) await new Promise((resolve) => setTimeout(resolve, 25))
    freshness_ms.push(performance.now() - acknowledged_at)
    rss_mb = Math.max(rss_mb, residentMegabytes(pid))
    await new Promise((resolve) => setTimeout(resolve, probe_pause_ms))
  }
  return { freshness_ms, rss_mb }
}

async function countEvents(url: string, key: string): Promise<number> {
  const answer = await fetch(`${url}/api/v1/reports/events?limit=1000`, { headers: { authorization: `Bearer ${key}` } })
  const { rows } = (await answer.json()) as { rows: { events: number }[] }
  return rows.reduce((sum, { events }) => sum + events, 0)
}

/** Peak resident memory of the standalone process: `pid`, or its child when the bootstrap started another Node. */
function residentMegabytes(pid: number): number {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')
  const kilobytes = [String(pid), ...children.filter((child) => child !== '')].map((id) => {
    if (!readFileSync(`/proc/${id}/cmdline`, 'utf8').includes('standalone/src/main.ts')) return 0
    return Number(/^VmHWM:\s*(\d+)/m.exec(readFileSync(`/proc/${id}/status`, 'utf8'))?.[1] ?? 0)
  })
  return Math.round(Math.max(...kilobytes) / 1024)
}
