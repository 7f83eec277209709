import { createHmac, randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { openEmbeddedClickhouse } from '@tributary/clickhouse/embedded'
import pino from 'pino'
import { type Verdict, verifyEvents } from '../verify-events.ts'
import { type StandaloneProcess, startStandaloneProcess, waitUntilWritten } from './standalone-process.ts'

export interface KillRunOptions {
  data_dir: string
  kills: number
  clients: number
  /** Longest time between ready and kill -9. */
  alive_ms_max: number
  random: () => number
}

export interface KillRunResult extends Verdict {
  kills: number
}

const batch_events = 20

/**
 * Kills the standalone process with -9 at random moments under load, restarts it, and compares the answers with the rows
 * in the tables. Half of the clients send an unanswered batch again, as an SDK does; the other half give up.
 */
export async function runKills(options: KillRunOptions): Promise<KillRunResult> {
  const { data_dir, kills, clients, alive_ms_max, random } = options
  const acknowledged = new Set<string>()
  const unanswered = new Set<string>()
  const target: LoadTarget = { standalone: null, ended: false }
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

/** The process that clients send to; null while it restarts. */
export interface LoadTarget {
  standalone: StandaloneProcess | null
  ended: boolean
}

/** Sends batches of one install each until the run ends. The install is the batch id, so that half-stored batches show. */
export async function client(
  target: LoadTarget,
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
    if (answer.status === 503) await new Promise((resolve) => setTimeout(resolve, 100))
    return answer.status === 200 && accepted === batch_events
  } catch {
    return false // The process died, and may or may not have stored the batch. The comparison decides.
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

/** Compares the batches of the clients with the rows in the tables. */
export async function compare(data_dir: string, acknowledged: Set<string>, unanswered: Set<string>): Promise<Verdict> {
  const clickhouse = await openEmbeddedClickhouse({
    data_dir: join(data_dir, 'clickhouse'),
    logger: pino({ level: 'silent' }),
  })
  try {
    // All clients send to the demo app, whose id they do not know.
    const apps = await clickhouse.query<{ app_id: string }>('SELECT DISTINCT app_id FROM events_raw_v1')
    const app_id = apps.length === 1 ? apps[0]!.app_id : 'unknown'
    const event_ids = Array.from({ length: batch_events }, (_, n) => `e-${n}`)
    const sent = (batches: Set<string>) => [...batches].map((install_uuid) => ({ app_id, install_uuid, event_ids }))
    return await verifyEvents(clickhouse, sent(acknowledged), sent(unanswered))
  } finally {
    await clickhouse.close()
  }
}
