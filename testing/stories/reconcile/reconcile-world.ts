import { randomUUID } from 'node:crypto'
import type { RewritableAuditStore, StoredObject } from '@tributary/audit-store/audit-store'
import { ReconcileProgress } from '@tributary/contracts/admin/reconcile'
import { hour_ms, limits } from '@tributary/contracts/limits'
import { applyServiceRoles } from '@tributary/postgres/apply-service-roles'
import { askAwaited, awaitJob } from '@tributary/postgres/awaited-jobs'
import { roleOf } from '@tributary/postgres/service-roles'
import { reconcileHours } from '@tributary/reconciler/reconcile-hours'
import { reconcileWhenAsked } from '@tributary/reconciler/reconcile-when-asked'
import { openMasterKeys } from '@tributary/tenancy/secrets/master-keys'
import { openTestClickhouse, type TestClickhouse } from '@tributary/testing/engines/test-clickhouse'
import { openTestPostgres, type TestPostgres } from '@tributary/testing/engines/test-postgres'
import { Pool as PgPool, type Pool } from 'pg'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest'
import { loseEvents, openWorld, type Tenant, type World } from '../replay/replay-world.ts'

export const masterKeys = openMasterKeys([{ id: 'test', key: Buffer.alloc(32, 7) }])
export const start_ms = Date.UTC(2026, 5, 1, 9, 20)

/** A pool with the rights of the reconciler, and no others. */
export async function openOwnPool({ pool, url }: TestPostgres): Promise<Pool> {
  await applyServiceRoles(pool, { reconciler: randomUUID() })
  const own = new URL(url)
  own.searchParams.set('options', `-c role=${roleOf('reconciler')}`)
  return new PgPool({ connectionString: own.href, max: 5 })
}

/** Engines for a file, and a world with two tenants and a reconciler for each of its tests. */
export function reconcileStage(begin_ms = start_ms) {
  const stage = {} as {
    clickhouse: TestClickhouse
    postgres: TestPostgres
    own: Pool
    world: World
    reconciler: Reconciler
    tenants: [Tenant, Tenant]
  }
  beforeAll(async () => {
    ;[stage.clickhouse, stage.postgres] = await Promise.all([openTestClickhouse(), openTestPostgres()])
    stage.own = await openOwnPool(stage.postgres)
  })
  afterAll(async () => {
    await stage.own.end()
    await Promise.all([stage.clickhouse.close(), stage.postgres.close()])
  })
  beforeEach(async () => {
    const { clickhouse, own, postgres } = stage
    await loseEvents(clickhouse, () => false)
    await postgres.pool.query('TRUNCATE reconcile_differences, reconciled_hours')
    stage.world = await openWorld({ clickhouse, pool: postgres.pool })
    stage.world.clock.now_ms = begin_ms
    stage.reconciler = openReconciler({ world: stage.world, clickhouse, pool: own, asking: postgres.pool })
    stage.tenants = [await stage.world.newTenant(), await stage.world.newTenant()]
  })
  afterEach(() => stage.world.close())
  return stage
}

interface Given {
  world: World
  clickhouse: TestClickhouse
  pool: Pool
  /** Asks for work as admin-api does. */
  asking: Pool
}

/**
 * A reconciler over a world, which waits for nobody. `between` is called before each second look, `amid` before tables of sums are compared
 * again within one.
 */
export function openReconciler({ world, clickhouse, pool, asking }: Given) {
  const registry = new Registry()
  const said: Record<string, unknown>[] = []
  const logger = pino({ base: null }, { write: (line: string) => said.push(JSON.parse(line)) })
  const hooks = { between: async (): Promise<void> => {}, amid: async (): Promise<void> => {} }
  const { broker, audit } = world
  const now = () => world.clock.now_ms
  const deps = () => ({
    ...{ pool, masterKeys, clickhouse, broker, audit, now, logger, registry, core_share: 1 },
    sleep: async (ms: number) => {
      await (ms >= limits.reconcile_again_ms ? hooks.between() : hooks.amid())
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
    /** The answer to somebody who asks, once what was received so far is old enough to be compared. */
    async ask(asked: { since_ms?: number; app_id?: string } = {}) {
      world.clock.now_ms += limits.reconcile_young_ms + 1
      const number = await askAwaited(asking, 'reconcile', { ...asked, request_id: 'r' }, now())
      if (number === null) throw new Error('somebody else asks')
      // Whoever asks has to be seen waiting, as admin-api is.
      const waiting = setInterval(() => void awaitJob(asking, number), 1000)
      await reconcileWhenAsked(deps())(new AbortController().signal).finally(() => clearInterval(waiting))
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

/** A request of an SDK with one event that the audit store has and the log has not. */
export async function dropped(world: World, tenant: Tenant): Promise<void> {
  world.log.before = async () => {
    throw new Error('dropped')
  }
  const before_ms = world.clock.now_ms
  await send(world, tenant, 1).catch(() => {})
  if (world.clock.now_ms !== before_ms) throw new Error('the log took it')
  world.log.before = async () => {}
}

/** Holds records of what `act` sends between audit store and log, until the given function is called. */
export async function held(world: World, act: () => Promise<unknown>): Promise<() => Promise<void>> {
  const gate = Promise.withResolvers<void>()
  const reached = Promise.withResolvers<void>()
  world.log.before = async () => {
    reached.resolve()
    await gate.promise
  }
  const sending = act()
  await reached.promise
  world.log.before = async () => {}
  return async () => {
    gate.resolve()
    await sending
    await world.untilWritten()
  }
}

/** The same world, whose objects are read by `read`. */
export const withReads = (world: World, read: (object: StoredObject) => Promise<Buffer | null>): World => ({
  ...world,
  audit: {
    ...world.audit,
    async *list(folder) {
      for await (const one of world.audit.list(folder))
        yield one.kind === 'object' ? { ...one, read: () => read(one) } : one
    },
  },
})

/** Names of the objects below a folder. */
export async function objectsBelow(audit: RewritableAuditStore, folder: string): Promise<string[]> {
  const found: string[] = []
  for await (const one of audit.list(folder)) {
    if (one.kind === 'folder') found.push(...(await objectsBelow(audit, one.folder)))
    else if (one.kind === 'object' && one.key !== null) found.push(one.key)
  }
  return found.toSorted()
}
