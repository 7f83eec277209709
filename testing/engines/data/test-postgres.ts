import { randomBytes } from 'node:crypto'
import { openEmbeddedPostgres } from '@tributary/postgres/embedded/embedded-postgres'
import { migratePostgres } from '@tributary/postgres/migrate'
import { openPostgres } from '@tributary/postgres/postgres'
import type { Pool } from 'pg'
import { pino } from 'pino'
import { startOwnEngine } from '../own-engine.ts'
import { launchPostgres, postgres } from '../servers/postgres.ts'
import { cluster_template, fillFolder } from './template.ts'

export interface TestPostgres {
  pool: Pool
  url: string
  close(): Promise<void>
}

interface Server {
  url: string
  /** It has a migrated database by the name of `migrated_database`, which nobody is connected to. */
  has_migrated: boolean
}

const migrated_database = 'migrated'
const logger = pino({ level: 'silent' })
const timeouts = { statement_timeout_ms: 10_000, connect_timeout_ms: 10_000 }
/** The server of this process and of all test files that it runs. It ends with the process. */
let shared: Promise<Server> | undefined

/**
 * A fresh, migrated database (`migrated: false`: an empty one) on the server at `TRIBUTARY_TEST_POSTGRES_URL`, else on an
 * embedded one, which starts with the first.
 */
export async function openTestPostgres({ migrated = true } = {}): Promise<TestPostgres> {
  shared ??= openServer()
  const { url: serverUrl, has_migrated } = await shared
  const database = `test_${randomBytes(8).toString('hex')}`
  const copied = migrated && has_migrated
  await onServer(serverUrl, `CREATE DATABASE ${database}${copied ? ` TEMPLATE ${migrated_database}` : ''}`)
  const url = Object.assign(new URL(serverUrl), { pathname: `/${database}` }).href
  const pool = openPostgres({ url, pool_max: 5, ...timeouts })
  const ended: Promise<void>[] = []
  pool.on('connect', (client) => ended.push(new Promise((resolve) => void client.once('end', resolve))))
  if (migrated && !copied) await migratePostgres({ pool })
  return {
    pool,
    url,
    async close() {
      await pool.end()
      // The pool does not wait until its connections are closed. One that the server closes fails whatever test runs then.
      await Promise.all(ended)
      await onServer(serverUrl, `DROP DATABASE ${database} WITH (FORCE)`)
    },
  }
}

async function openServer(): Promise<Server> {
  const given = process.env.TRIBUTARY_TEST_POSTGRES_URL
  if (given !== undefined && given !== '') return { url: given, has_migrated: false }
  const fill = (data_dir: string) => fillFolder(cluster_template, data_dir, makeCluster)
  const { url } = await startOwnEngine({ ...postgres, launch: (dir) => launchPostgres(dir, fill) })
  return { url, has_migrated: true }
}

/** Leaves a cluster with a migrated database; its others are as PostgreSQL makes them. */
async function makeCluster(data_dir: string): Promise<void> {
  const server = await openEmbeddedPostgres({ data_dir, logger })
  try {
    await onServer(server.url, `CREATE DATABASE ${migrated_database}`)
    const url = Object.assign(new URL(server.url), { pathname: `/${migrated_database}` }).href
    const pool = openPostgres({ url, pool_max: 1, ...timeouts })
    await migratePostgres({ pool }).finally(() => pool.end())
  } finally {
    await server.close()
  }
}

async function onServer(url: string, statement: string): Promise<void> {
  const pool = openPostgres({ url, pool_max: 1, ...timeouts })
  try {
    await pool.query(statement)
  } finally {
    await pool.end()
  }
}
