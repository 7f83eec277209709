import type { Broker } from '@tributary/broker/broker'
import { appPartition } from '@tributary/broker/partition'
import { topics } from '@tributary/contracts/topics'
import { inTransaction } from '@tributary/postgres/transaction'
import type { Resource } from '@tributary/service-kit/resources/resource'
import type { Pool } from 'pg'
import type { InstallOfApp, RedecisionList, TakenRedecision } from './redecisions.ts'

/** Entries of one statement. */
const added_max = 2000

interface Deps {
  postgres: Pool
  broker: Pick<Broker, 'partitionCount'>
}

/** The list of re-decisions over PostgreSQL. */
export const redecisionsResource: Resource<RedecisionList, never, never, Deps> = {
  settings: [],
  required: [],
  on: ['postgres', 'broker'],
  open: async (_config, _service, deps) => postgresRedecisions(deps),
}

/**
 * The list of re-decisions over PostgreSQL. Whoever locks several rows does so in the order of their key: two that lock the
 * same rows do not wait for each other in a circle.
 */
export function postgresRedecisions({ postgres: pool, broker }: Deps): RedecisionList {
  /** The app of each partition whose turn was last. A new owner begins anywhere, which is as fair. */
  const lastApps = new Map<number, string>()

  async function appsBehind(partition: number, after: string, max: number): Promise<string[]> {
    const { rows } = await pool.query<{ app_id: string }>(appsSql, [partition, after, max])
    return rows.map(({ app_id }) => app_id)
  }

  async function appsInTurn(partition: number, max: number): Promise<string[]> {
    const last = lastApps.get(partition) ?? ''
    const next = await appsBehind(partition, last, max)
    if (last === '' || next.length >= max) return next
    const first = await appsBehind(partition, '', max)
    return [...new Set([...next, ...first])].slice(0, max)
  }

  async function findFree(partition: number, max: number): Promise<InstallOfApp[]> {
    if (max <= 0) return []
    const apps = await appsInTurn(partition, max)
    if (apps.length === 0) return []
    const { rows } = await pool.query<InstallOfApp>(freeSql, [partition, apps, Math.ceil(max / apps.length)])
    const found = rows.slice(0, max)
    const last = found.at(-1)
    if (last !== undefined) lastApps.set(partition, last.app_id)
    return found
  }

  return {
    async add(installs) {
      const partitions = await broker.partitionCount(topics.installsFound.name)
      const names = [...new Map(installs.map((one) => [`${one.app_id}/${one.install_uuid}`, one])).values()]
      for (let at = 0; at < names.length; at += added_max) {
        const part = names.slice(at, at + added_max)
        const partitions_of = part.map(({ app_id }) => appPartition(app_id, partitions))
        await pool.query(addSql, [...keysOf(part), partitions_of])
      }
    },
    async take({ partition, name }, max) {
      const { rows: begun } = await pool.query<InstallOfApp>(begunSql, [partition])
      const free = await findFree(partition, max - begun.length)
      const wanted = [...begun, ...free]
      if (wanted.length === 0) return []
      const { rows } = await pool.query<TakenRedecision>(takeSql, [...keysOf(wanted), name])
      return rows
    },
    finish: ({ partition, name }, decided) =>
      inTransaction(pool, async (client) => {
        const numbers = decided.map(({ reason_number }) => reason_number)
        await client.query(lockSql, [partition, name])
        await client.query(removeSql, [...keysOf(decided), numbers, name])
        await client.query(releaseSql, [partition, name, ...keysOf(decided)])
        const { rows } = await client.query<{ left: boolean }>(leftSql, [partition])
        return rows[0]!.left
      }),
    async partitions() {
      const { rows } = await pool.query<{ partition: number }>(partitionsSql)
      return rows.map(({ partition }) => partition)
    },
    apps: appsBehind,
    async backlog() {
      const { rows } = await pool.query<{ count: number; oldest_ms: number | null }>(backlogSql)
      const { count, oldest_ms } = rows[0]!
      return { count, oldest_ms: oldest_ms === null ? null : Math.max(0, oldest_ms) }
    },
  }
}

const keysOf = (installs: readonly InstallOfApp[]): [string[], string[]] => [
  installs.map(({ app_id }) => app_id),
  installs.map(({ install_uuid }) => install_uuid),
]

const addSql = `
  INSERT INTO redecisions (app_id, install_uuid, partition)
  SELECT app_id, install_uuid, partition FROM unnest($1::text[], $2::text[], $3::int[]) AS added (app_id, install_uuid, partition)
  ORDER BY app_id, install_uuid
  ON CONFLICT (app_id, install_uuid) DO UPDATE SET reason_number = EXCLUDED.reason_number, partition = EXCLUDED.partition`

/** A loose scan: one look into the index for each app. */
const appsSql = `
  WITH RECURSIVE turn (app_id, number) AS (
    SELECT min(app_id), 1 FROM redecisions WHERE partition = $1 AND app_id > $2
    UNION ALL
    SELECT (SELECT min(r.app_id) FROM redecisions AS r WHERE r.partition = $1 AND r.app_id > turn.app_id), number + 1
    FROM turn WHERE turn.app_id IS NOT NULL AND number < $3)
  SELECT app_id FROM turn WHERE app_id IS NOT NULL ORDER BY number`

const freeSql = `
  SELECT free.app_id, free.install_uuid FROM unnest($2::text[]) WITH ORDINALITY AS turn (app_id, number)
  CROSS JOIN LATERAL (
    SELECT r.app_id, r.install_uuid FROM redecisions AS r
    WHERE r.partition = $1 AND r.app_id = turn.app_id AND r.slice IS NULL
    ORDER BY r.added_at, r.install_uuid LIMIT $3) AS free
  ORDER BY turn.number`

const begunSql = 'SELECT app_id, install_uuid FROM redecisions WHERE partition = $1 AND slice IS NOT NULL'

const takeSql = `
  WITH wanted AS (
    SELECT r.app_id, r.install_uuid FROM redecisions AS r
    JOIN unnest($1::text[], $2::text[]) AS w (app_id, install_uuid) USING (app_id, install_uuid)
    ORDER BY r.app_id, r.install_uuid FOR UPDATE OF r)
  UPDATE redecisions AS r SET slice = $3 FROM wanted AS w
  WHERE r.app_id = w.app_id AND r.install_uuid = w.install_uuid
  RETURNING r.app_id, r.install_uuid, r.reason_number::text`

const lockSql = `
  SELECT 1 FROM redecisions WHERE partition = $1 AND slice IS NOT NULL AND slice = $2
  ORDER BY app_id, install_uuid FOR UPDATE`

const removeSql = `
  DELETE FROM redecisions AS r
  USING unnest($1::text[], $2::text[], $3::bigint[]) AS decided (app_id, install_uuid, reason_number)
  WHERE r.app_id = decided.app_id AND r.install_uuid = decided.install_uuid
    AND r.reason_number = decided.reason_number AND r.slice = $4`

/** An entry that was decided and has a new reason waits behind the others of its app. One that was not keeps its age. */
const releaseSql = `
  UPDATE redecisions SET slice = NULL,
    added_at = CASE WHEN (app_id, install_uuid) IN (SELECT * FROM unnest($3::text[], $4::text[])) THEN now() ELSE added_at END
  WHERE partition = $1 AND slice IS NOT NULL AND slice = $2`

const leftSql = 'SELECT EXISTS (SELECT 1 FROM redecisions WHERE partition = $1) AS left'

const partitionsSql = `
  WITH RECURSIVE waiting (partition) AS (
    SELECT min(partition) FROM redecisions
    UNION ALL
    SELECT (SELECT min(r.partition) FROM redecisions AS r WHERE r.partition > waiting.partition)
    FROM waiting WHERE waiting.partition IS NOT NULL)
  SELECT partition FROM waiting WHERE partition IS NOT NULL`

const backlogSql = `
  SELECT count(*)::int AS count, round(extract(epoch FROM now() - min(added_at)) * 1000)::float8 AS oldest_ms FROM redecisions`
