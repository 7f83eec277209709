import { chmod } from 'node:fs/promises'
import { join } from 'node:path'
import {
  cluster_user,
  postgresEnv,
  prepareCluster,
  serverArguments,
} from '@tributary/postgres/embedded/embedded-cluster'
import { openPostgres } from '@tributary/postgres/postgres'
import { cluster_template, copyTemplate } from '../data/template.ts'
import { EngineUnavailable, type Launch, type Recipe } from '../engine.ts'
import { freePorts } from '../ports.ts'

const version = '18.4'
/** Enough for a whole fleet and its tests. */
const connections_max = 200

/** The PostgreSQL from npm that standalone embeds, with its cluster in the engine's folder. */
export const postgres: Recipe = {
  name: 'postgres',
  variable: 'TRIBUTARY_TEST_POSTGRES_URL',
  container: {
    image: `postgres:${version}`,
    port: 5432,
    environment: () => ({ POSTGRES_PASSWORD: 'tributary' }),
    url: (host, port) => `postgres://postgres:tributary@${host}:${port}/postgres`,
  },
  install: async () => {},
  launch: (dir) => launchPostgres(dir, (data_dir) => copyTemplate(cluster_template, data_dir)),
}

/** The same in a folder that `fill` has readied. */
export async function launchPostgres(dir: string, fill: (data_dir: string) => Promise<void>): Promise<Launch> {
  const [port = 0] = await freePorts(1)
  await chmod(dir, 0o711) // as root the server runs as another user, who must reach its folder
  const data_dir = join(dir, 'data')
  await fill(data_dir)
  const cluster = await prepareCluster(data_dir).catch((cause: Error) => {
    throw new EngineUnavailable(cause.message, { cause })
  })
  const { account, password, postgres_path } = cluster
  const { uid, gid } = account
  const asUser = uid === undefined ? [] : ['setpriv', `--reuid=${uid}`, `--regid=${gid}`, '--clear-groups']
  const settings = [...serverArguments(cluster, port), '-c', `max_connections=${connections_max}`]
  const environment = Object.entries(postgresEnv).map((pair) => pair.join('='))
  const url = `postgres://${cluster_user}:${password}@127.0.0.1:${port}/postgres`
  return {
    command: 'env',
    // Each command replaces itself by the next, so the first pid is that of PostgreSQL.
    args: ['-i', ...environment, ...asUser, ...account.prefix, postgres_path, ...settings],
    url,
    // It already listens while it replays its log.
    probe: async () => {
      const pool = openPostgres({ url, pool_max: 1, statement_timeout_ms: 1000, connect_timeout_ms: 1000 })
      try {
        await pool.query('SELECT 1')
      } finally {
        await pool.end()
      }
    },
  }
}
