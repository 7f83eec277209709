import { randomUUID } from 'node:crypto'
import type { RewritableAuditStore } from '@tributary/audit-store/audit-store'
import { ReconcileProgress } from '@tributary/contracts/admin/reconcile'
import { hour_ms, limits } from '@tributary/contracts/limits'
import { applyServiceRoles } from '@tributary/postgres/apply-service-roles'
import { askAwaited, awaitJob } from '@tributary/postgres/awaited-jobs'
import { roleOf } from '@tributary/postgres/service-roles'
import { reconcileHours } from '@tributary/reconciler/reconcile-hours'
import { reconcileWhenAsked } from '@tributary/reconciler/reconcile-when-asked'
import { openMasterKeys } from '@tributary/tenancy/secrets/master-keys'
import type { TestClickhouse } from '@tributary/testing/engines/test-clickhouse'
import type { TestPostgres } from '@tributary/testing/engines/test-postgres'
import { Pool as PgPool, type Pool } from 'pg'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import type { Tenant, World } from '../replay/replay-world.ts'

export const masterKeys = openMasterKeys([{ id: 'test', key: Buffer.alloc(32, 7) }])
export const start_ms = Date.UTC(2026, 5, 1, 9, 20)

/** A pool with the rights of the reconciler, and no others. */
export async function openOwnPool({ pool, url }: TestPostgres): Promise<Pool> {
  await applyServiceRoles(pool, { reconciler: randomUUID() })
  const own = new URL(url)
  own.searchParams.set('options', `-c role=${roleOf('reconciler')}`)
  return new PgPool({ connectionString: own.href, max: 5 })
}

interface Given {
  world: World
  clickhouse: TestClickhouse
  pool: Pool
  /** Asks for work as admin-api does. */
  asking: Pool
}

/** A reconciler over a world, which waits for nobody. `between` is called before each second look. */
export function openReconciler({ world, clickhouse, pool, asking }: Given) {
  const registry = new Registry()
  const said: Record<string, unknown>[] = []
  const logger = pino({ base: null }, { write: (line: string) => said.push(JSON.parse(line)) })
  const hooks = { between: async (): Promise<void> => {} }
  const { broker, audit } = world
  const now = () => world.clock.now_ms
  const deps = () => ({
    ...{ pool, masterKeys, clickhouse, broker, audit, now, logger, registry, core_share: 1 },
    sleep: async (ms: number) => {
      if (ms >= limits.reconcile_again_ms) await hooks.between()
    },
  })
  const always = reconcileHours(deps())
  return {
    ...{ said, hooks, registry },
    /** A run of the job. */
    run: (stop = new AbortController().signal) => always(stop),
    /** The job of another process. */
    another: () => reconcileHours(deps()),
    /** The job that waits for somebody who asks. */
    whenAsked: reconcileWhenAsked(deps()),
    /** The answer to somebody who asks. */
    async ask(asked: { since_ms?: number; app_id?: string } = {}) {
      const number = await askAwaited(asking, 'reconcile', { ...asked, request_id: 'r' }, now())
      if (number === null) throw new Error('somebody else asks')
      await reconcileWhenAsked(deps())(new AbortController().signal)
      const { progress } = await awaitJob(asking, number)
      return ReconcileProgress.parse(progress)
    },
    /** What is known to differ. */
    async known() {
      const { rows } = await pool.query(
        'SELECT app_id, hour_ms::float8, store, expected, found FROM reconcile_differences ORDER BY 1, 2, 3',
      )
      return rows
    },
    async metric(name: string) {
      const found = await registry.getSingleMetric(name)?.get()
      return found?.values.map(({ labels, value }) => ({ ...labels, value })) ?? []
    },
  }
}
export type Reconciler = ReturnType<typeof openReconciler>

export const hourOf = (ms: number): string =>
  `${new Date(Math.floor(ms / hour_ms) * hour_ms).toISOString().slice(0, 19)}Z`

/** Sends a request of an SDK with so many events, and gives back their ids. */
export async function send(world: World, tenant: Tenant, count: number, more: object = {}): Promise<string[]> {
  const events = Array.from({ length: count }, () => ({
    ...{ event_id: randomUUID(), event_name: 'level_up', install_uuid: `i-${randomUUID()}` },
    ...{ event_ts_ms: world.clock.now_ms - 1000, ...more },
  }))
  const { status } = await world.sdk(tenant, JSON.stringify({ events, sent_at_ms: world.clock.now_ms }))
  if (status !== 200) throw new Error(`answered ${status}`)
  world.clock.now_ms += 1000
  return events.map(({ event_id }) => event_id)
}

/** Names of the objects below a folder. */
export async function objectsBelow(audit: RewritableAuditStore, folder: string): Promise<string[]> {
  const found: string[] = []
  for await (const one of audit.list(folder)) {
    if (one.kind === 'folder') found.push(...(await objectsBelow(audit, one.folder)))
    else if (one.kind === 'object' && one.key !== null) found.push(one.key)
  }
  return found.toSorted()
}
