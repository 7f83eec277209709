import { textLiteral } from '../literals.ts'

type Ask = <Row>(sql: string, params?: Record<string, unknown>) => Promise<Row[]>

/**
 * Every table of ours is replicated or none is, and its path in Keeper begins with the cluster (`migration-files.ts`). Any
 * table does: each user sees those that it has rights on.
 */
const cluster_sql = `SELECT extract(engine_full, '/clickhouse/tables/([A-Za-z0-9_-]+)/') AS cluster FROM system.tables
  WHERE database = currentDatabase() AND startsWith(engine, 'Replicated') LIMIT 1`
const active_sql = `SELECT max(active_replicas) AS active FROM system.replicas WHERE database = currentDatabase()`

/**
 * True while any server of the cluster runs a statement whose id begins with `prefix`: a writer that changed its server may
 * have left an insert running in the one before. Throws while a replica that Keeper knows as active does not answer; a
 * replica that is not active can't commit its inserts.
 */
export async function isAnyInserting(ask: Ask, prefix: string): Promise<boolean> {
  const [replicated] = await ask<{ cluster: string }>(cluster_sql)
  const isRunning = `SELECT countIf(startsWith(query_id, {prefix:String})) AS running, uniqExact(serverUUID()) AS servers`
  if (replicated === undefined) {
    const [found] = await ask<{ running: number }>(`${isRunning} FROM system.processes`, { prefix })
    return found!.running > 0
  }
  const [replicas] = await ask<{ active: number }>(active_sql)
  const [found] = await ask<{ running: number; servers: number }>(
    `${isRunning} FROM clusterAllReplicas(${textLiteral(replicated.cluster)}, system.processes) SETTINGS skip_unavailable_shards = 1`,
    { prefix },
  )
  if (found!.running > 0) return true
  if (found!.servers >= replicas!.active) return false
  throw new Error(`only ${found!.servers} of ${replicas!.active} active replicas say which inserts they have at work`)
}
