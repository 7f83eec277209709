import { type ChildProcess, spawn } from 'node:child_process'
import { createServer } from 'node:net'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import type { Logger } from 'pino'
import {
  cluster_user,
  type EmbeddedCluster,
  postgresEnv,
  prepareCluster,
  serverArguments,
  underAccount,
} from './embedded-cluster.ts'
import { stopLeftoverPostmaster } from './leftover-postmaster.ts'

const start_deadline_ms = 60_000
const stop_deadline_ms = 10_000
const restart_pause_ms = 500
const start_attempts_max = 8

export interface EmbeddedPostgres {
  /** `postgres://` address with the password: never logged. */
  url: string
  /** Fast shutdown: connections are ended, everything is on disk. */
  close(): Promise<void>
}

/**
 * A PostgreSQL server as a child process with its cluster in `data_dir`; the caller holds the lock of that folder.
 * A server left behind by a killed process is stopped first, and one that dies is started again on the same port.
 */
export async function openEmbeddedPostgres(options: { data_dir: string; logger: Logger }): Promise<EmbeddedPostgres> {
  const { data_dir, logger } = options
  const cluster = await prepareCluster(data_dir)
  await stopLeftoverPostmaster(cluster.cluster_dir, logger)
  let { port, child } = await startOnFreePort(cluster, logger)
  let closing = false
  // process.exit without close() must not leave a server behind.
  const stopAtExit = () => child.kill('SIGINT')
  process.once('exit', stopAtExit)

  const supervised = (async () => {
    for (;;) {
      await ended(child)
      if (closing) return
      logger.error('PostgreSQL ended by itself: starting it again')
      // Back-ends of the dead server may hold its shared memory for a moment, so the first attempts may fail.
      for (let up = false; !up && !closing; ) {
        await pause(restart_pause_ms)
        try {
          child = await startServer(cluster, port, logger)
          up = true
        } catch (error) {
          logger.error({ err: error }, 'PostgreSQL did not start')
        }
      }
    }
  })()

  return {
    url: `postgres://${cluster_user}:${cluster.password}@127.0.0.1:${port}/postgres`,
    async close() {
      closing = true
      process.removeListener('exit', stopAtExit)
      child.kill('SIGINT')
      const harder = setTimeout(() => child.kill('SIGQUIT'), stop_deadline_ms)
      await supervised
      clearTimeout(harder)
      child.kill('SIGINT') // one that came up while we were closing
      await ended(child)
    },
  }
}

async function startOnFreePort(cluster: EmbeddedCluster, logger: Logger) {
  for (let attempt = 1; ; attempt += 1) {
    const port = await freePort()
    try {
      return { port, child: await startServer(cluster, port, logger) }
    } catch (error) {
      // Another process may have taken the port between our look and PostgreSQL's bind, or back-ends of a killed server
      // may hold its shared memory for a moment.
      if (attempt === start_attempts_max) throw error
      logger.debug({ err: error }, 'PostgreSQL did not start: trying again')
      await pause(restart_pause_ms)
    }
  }
}

async function startServer(cluster: EmbeddedCluster, port: number, logger: Logger): Promise<ChildProcess> {
  const { account, postgres_path } = cluster
  const child = spawn(...underAccount(account, postgres_path, serverArguments(cluster, port)), {
    ...(account.uid === undefined ? {} : { uid: account.uid, gid: account.gid }),
    cwd: '/',
    env: postgresEnv,
    stdio: ['ignore', 'ignore', 'pipe'],
    // Its own process group: Ctrl-C must not stop the database before those who still write to it.
    detached: true,
  })
  const { promise, resolve, reject } = Promise.withResolvers<ChildProcess>()
  const deadline = setTimeout(() => {
    child.kill('SIGQUIT')
    reject(new Error(`PostgreSQL was not ready within ${start_deadline_ms} ms`))
  }, start_deadline_ms)
  let lastFatal = ''
  createInterface({ input: child.stderr! }).on('line', (line) => {
    if (/ (FATAL|PANIC): /.test(line)) lastFatal = line
    logger.debug({ postgres: line }, 'PostgreSQL says')
    if (line.includes('database system is ready to accept connections')) resolve(child)
  })
  child.once('error', reject)
  child.once('close', (code) => reject(new Error(`PostgreSQL ended while starting (${code}): ${lastFatal}`)))
  return promise.finally(() => clearTimeout(deadline))
}

function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve()
  return new Promise((resolve) => child.once('exit', () => resolve()))
}

function freePort(): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>()
  const server = createServer()
  server.once('error', reject)
  server.listen(0, '127.0.0.1', () => {
    const address = server.address()
    server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0))
  })
  return promise
}
