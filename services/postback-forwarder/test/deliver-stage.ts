import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { openTargets } from '@tributary/domain/partner/targets'
import type { LoggedTry } from '@tributary/tables/partners/deliveries'
import { type AddedPostback, addOwed } from '@tributary/tables/partners/due-postbacks'
import { setPartner } from '@tributary/tenancy/companies/partner-settings'
import { createApp, createCompany } from '@tributary/tenancy/companies/tenants'
import { openMasterKeys } from '@tributary/tenancy/secrets/master-keys'
import { openTestPostgres } from '@tributary/testing/engines/test-postgres'
import { pino } from 'pino'
import { onTestFinished } from 'vitest'
import { deliverer } from '../src/deliver/deliver.ts'

export const masterKeys = openMasterKeys([{ id: 'test', key: Buffer.alloc(32, 1) }])
/** SQL of the clock by which postbacks are due, Unix epoch ms. */
export const clock_ms = 'floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint'
const request = { actor: 'test', request_id: 'r', now_ms: 0 }

/** A server on a loopback address; the first is that of partners, others are closed to postbacks. */
export async function listen(listener: RequestListener, host = '127.0.0.1'): Promise<{ port: number; server: Server }> {
  const server = createServer(listener)
  server.listen(0, host)
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return { port: (server.address() as AddressInfo).port, server }
}

/** A database with due postbacks, and processes that work it off. */
export async function openStage() {
  const db = await openTestPostgres()
  const { pool } = db
  onTestFinished(() => db.close())
  const { company_id } = await createCompany(pool, { name: 'Acme', plan: 'free' }, request)
  const { app_id } = await createApp(pool, masterKeys, { company_id, name: 'Game', platform: 'android' }, request)
  const logged: LoggedTry[] = []
  const lines: string[] = []
  const clock = { ahead_ms: 0 }
  const now = () => Date.now() + clock.ahead_ms
  /** Lets time pass: for processes, and for what is due by the clock of PostgreSQL. */
  async function later(ms: number): Promise<void> {
    clock.ahead_ms += ms
    await pool.query('UPDATE due_postbacks SET next_try_ms = next_try_ms - $1, give_up_ms = give_up_ms - $1', [ms])
  }
  /** The log of tries. */
  const log = { away: false, failures: 0 }
  const clickhouse = {
    insert: async ({ lines: inserted, columns }: { lines: string; columns: readonly string[] }) => {
      if (log.away) {
        log.failures += 1
        throw new Error('ClickHouse is away')
      }
      for (const line of inserted.split('\n')) {
        const values = JSON.parse(line) as unknown[]
        logged.push(Object.fromEntries(columns.map((name, n) => [name, values[n]])) as unknown as LoggedTry)
      }
    },
  }

  /** Sets a partner and makes `count` postbacks due to it. */
  async function owe(
    partner: string,
    postback_url: string,
    count: number,
    more: { method?: 'GET' | 'POST'; hmac_secret?: string } = {},
  ) {
    const settings = { ...{ app_id, partner, postback_url, method: 'GET' as const, events: ['install'] }, ...more }
    await setPartner({ pool, masterKeys }, { ...settings, flagged: 'skip' }, request)
    const { rows } = await pool.query<{ id: string }>(
      'SELECT max(settings_id)::text AS id FROM partner_postbacks WHERE app_id = $1 AND partner = $2',
      [app_id, partner],
    )
    await addOwed(
      pool,
      Array.from({ length: count }, (_, n) => postback(app_id, partner, rows[0]!.id, `i-${n}`)),
      now(),
    )
  }

  /** A process; it ends with the test. */
  function start(more: Partial<Parameters<typeof deliverer>[0]> = {}) {
    const stop = new AbortController()
    const logger = pino({ level: 'trace' }, { write: (line: string) => void lines.push(line) })
    const running = deliverer({
      ...{ postgres: pool, clickhouse, masterKeys, now, logger, random: () => 1 },
      ...{ targets: openTargets(['127.0.0.1']), resolve: async () => ['127.0.0.1'] },
      ...more,
    } as Parameters<typeof deliverer>[0])
    const work = running.work(stop.signal)
    work.catch(() => {})
    const end = async () => {
      stop.abort()
      await work.catch(() => {})
      await running.close()
    }
    onTestFinished(end)
    return { end, work, workAgain: () => running.work(stop.signal) }
  }

  /** Rows by partner and state. */
  async function states(): Promise<Record<string, number>> {
    const { rows } = await pool.query<{ name: string; count: number }>(
      `SELECT concat(partner, ' ', state) AS name, count(*)::int AS count FROM due_postbacks GROUP BY name ORDER BY name`,
    )
    return Object.fromEntries(rows.map(({ name, count }) => [name, count]))
  }
  return { pool, app_id, log, logged, lines, later, owe, start, states, now }
}

function postback(app_id: string, partner: string, settings_id: string, install_uuid: string): AddedPostback {
  return {
    ...{ app_id, partner, settings_id, install_uuid, event_key: `${partner}-key`, received_at_ms: 0, dated_at_ms: 0 },
    content: {
      ...{ click_id: 'c', ext_click_id: null, sub1: null, sub2: null, sub3: null, sub4: null, sub5: null },
      ...{ install_uuid, event_name: 'install', revenue: null, currency: null, event_ts_ms: 1, reject_reason: null },
    },
  }
}
