import { createHmac, randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { openEmbeddedClickhouse } from '@tributary/clickhouse/embedded'
import pino from 'pino'
import { type StandaloneProcess, startStandaloneProcess, waitUntilWritten } from './standalone-process.ts'

export interface KillRunOptions {
  data_dir: string
  kills: number
  clients: number
  /** Longest time between ready and kill -9. */
  alive_ms_max: number
  random: () => number
}

export interface KillRunResult {
  kills: number
  acknowledged: number
  in_events_raw: number
  /** Acknowledged and not there. */
  lost: number
  /** There more than once. */
  doubled: number
  /** Batches never acknowledged of which a part is there. */
  half: number
  /** Events by each roll-up, which must equal `in_events_raw`. */
  rollups: Record<string, number>
  /** Rows by each roll-up without a count that differ from what the raw rows say, in either direction. */
  differing: Record<string, number>
}

const batch_events = 20

/**
 * Kills the standalone process with -9 at random moments under load, starts it again, and compares what clients were
 * told with what the tables hold. Half of the clients send an unanswered batch again, as an SDK does; half give up.
 */
export async function runKills(options: KillRunOptions): Promise<KillRunResult> {
  const { data_dir, kills, clients, alive_ms_max, random } = options
  const acknowledged = new Set<string>()
  const unanswered = new Set<string>()
  const target: { standalone: StandaloneProcess | null; ended: boolean } = { standalone: null, ended: false }
  target.standalone = await startStandaloneProcess({ data_dir })
  const demo = target.standalone.demo()
  const load = Array.from({ length: clients }, (_, n) => client(target, demo, n % 2 === 0, acknowledged, unanswered))
  for (let kill = 0; kill < kills; kill += 1) {
    await new Promise((resolve) => setTimeout(resolve, 50 + random() * alive_ms_max))
    const killed = target.standalone
    target.standalone = null
    await killed.stop('SIGKILL')
    target.standalone = await startStandaloneProcess({ data_dir })
  }
  target.ended = true
  await Promise.all(load)
  await waitUntilWritten(target.standalone.url, data_dir)
  await target.standalone.stop('SIGTERM')
  return { kills, ...(await compare(data_dir, acknowledged, unanswered)) }
}

/** Sends batches of one install each until the run ends; the batch id is the install, so that halves show. */
async function client(
  target: { standalone: StandaloneProcess | null; ended: boolean },
  demo: Record<string, string>,
  sendsAgain: boolean,
  acknowledged: Set<string>,
  unanswered: Set<string>,
): Promise<void> {
  while (!target.ended) {
    const batch = randomUUID()
    const body = gzipSync(JSON.stringify(makeBatch(batch)))
    const headers = {
      'content-encoding': 'gzip',
      'x-service-company-key': demo.COMPANY_KEY ?? '',
      'x-service-app-key': demo.APP_KEY ?? '',
      'x-service-signature': createHmac('sha256', demo.SIGNING_SECRET ?? '')
        .update(body)
        .digest('hex'),
    }
    for (let again = true; again; ) {
      const answered = await post(target, body, headers)
      if (answered) acknowledged.add(batch)
      else unanswered.add(batch)
      again = !answered && sendsAgain && !target.ended
    }
    if (acknowledged.has(batch)) unanswered.delete(batch)
  }
}

async function post(
  target: { standalone: StandaloneProcess | null },
  body: Buffer<ArrayBuffer>,
  headers: Record<string, string>,
): Promise<boolean> {
  const { standalone } = target
  if (standalone === null) {
    await new Promise((resolve) => setTimeout(resolve, 20))
    return false
  }
  try {
    const answer = await fetch(`${standalone.url}/event`, { method: 'POST', body, headers })
    const { accepted } = (await answer.json()) as { accepted?: number }
    return answer.status === 200 && accepted === batch_events
  } catch {
    return false // the process died; whether the batch was taken is what the run is about
  }
}

function makeBatch(install_uuid: string) {
  const now = Date.now()
  const events = Array.from({ length: batch_events }, (_, n) => ({
    event_id: `e-${n}`,
    event_name: n % 5 === 0 ? 'purchase' : 'level_up',
    event_ts_ms: now - n,
    install_uuid,
    ...(n % 5 === 0 ? { revenue: 1.5, currency: 'EUR' } : {}),
    props: { level: n, note: 'x'.repeat(100) },
  }))
  return { events, sent_at_ms: now }
}

const activity = `SELECT app_id, install_uuid, day, min(min_ts_ms) AS first, max(max_ts_ms) AS last
  FROM activity_per_day_v1 GROUP BY app_id, install_uuid, day`
const rawActivity = `SELECT app_id, install_uuid, day, min(ts_ms) AS first, max(ts_ms) AS last
  FROM events_raw_v1 GROUP BY app_id, install_uuid, day`
const installs = `SELECT app_id, day, event_name, uniqExactMerge(installs) AS installs
  FROM event_installs_per_day_v1 GROUP BY app_id, day, event_name`
const rawInstalls = `SELECT app_id, day, event_name, uniqExact(install_uuid) AS installs
  FROM events_raw_v1 GROUP BY app_id, day, event_name`

const differences = (one: string, other: string) =>
  `(SELECT toUInt32(count()) FROM (${one} EXCEPT ${other})) + (SELECT toUInt32(count()) FROM (${other} EXCEPT ${one}))`

const differingSql = `SELECT
  toUInt32(${differences(activity, rawActivity)}) AS activity_per_day_v1,
  toUInt32(${differences(installs, rawInstalls)}) AS event_installs_per_day_v1`

async function compare(data_dir: string, acknowledged: Set<string>, unanswered: Set<string>) {
  const clickhouse = await openEmbeddedClickhouse({
    data_dir: join(data_dir, 'clickhouse'),
    logger: pino({ level: 'silent' }),
  })
  try {
    const stored = await clickhouse.query<{ install_uuid: string; events: number; different: number }>(
      `SELECT install_uuid, toUInt32(count()) AS events, toUInt32(uniqExact(event_id)) AS different
       FROM events_raw_v1 GROUP BY install_uuid`,
    )
    const sums = `SELECT
      (SELECT toUInt32(count()) FROM event_keys_v1) AS event_keys_v1,
      (SELECT toUInt32(sum(events)) FROM events_per_day_v1) AS events_per_day_v1`
    const [rollups] = await clickhouse.query<Record<string, number>>(sums)
    const [differing] = await clickhouse.query<Record<string, number>>(differingSql)
    const byBatch = new Map(stored.map((row) => [row.install_uuid, row]))
    const missing = [...acknowledged].map((batch) => batch_events - (byBatch.get(batch)?.different ?? 0))
    const parts = [...unanswered].map((batch) => byBatch.get(batch)?.different ?? 0)
    return {
      acknowledged: acknowledged.size * batch_events,
      in_events_raw: stored.reduce((sum, { events }) => sum + events, 0),
      lost: missing.reduce((sum, n) => sum + n, 0),
      doubled: stored.reduce((sum, { events, different }) => sum + events - different, 0),
      half: parts.filter((n) => n !== 0 && n !== batch_events).length,
      rollups: rollups ?? {},
      differing: differing ?? {},
    }
  } finally {
    await clickhouse.close()
  }
}
