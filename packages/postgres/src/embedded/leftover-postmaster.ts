import { execFile } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import type { Logger } from 'pino'

const fast_stop_ms = 10_000
const immediate_stop_ms = 5_000

/**
 * Stops the postmaster that a killed process of ours left running on this cluster, and nothing else: the pid of
 * `postmaster.pid` counts only when it is a postgres whose command line names this cluster (pids are used again).
 * Call it only while holding the lock of the data folder.
 */
export async function stopLeftoverPostmaster(cluster_dir: string, logger: Logger): Promise<void> {
  const pid = await readPid(cluster_dir)
  if (pid === undefined) return
  if (!(await isPostmasterOf(pid, cluster_dir))) return disownPid(cluster_dir)
  logger.warn({ pid }, 'stopping a PostgreSQL that an earlier process left behind')
  // SIGINT is PostgreSQL's fast shutdown (with a checkpoint), SIGQUIT its immediate one (the log is replayed at the start).
  if (await stopWith(pid, 'SIGINT', cluster_dir, fast_stop_ms)) return
  if (await stopWith(pid, 'SIGQUIT', cluster_dir, immediate_stop_ms)) return
  throw new Error(`A PostgreSQL of an earlier process (pid ${pid}) does not stop; stop it by hand and start again.`)
}

async function readPid(cluster_dir: string): Promise<number | undefined> {
  const text = await readFile(join(cluster_dir, 'postmaster.pid'), 'utf8').catch(() => '')
  const pid = Number(text.split('\n', 1)[0])
  return Number.isSafeInteger(pid) && pid > 1 ? pid : undefined
}

/**
 * Puts our own pid into a pid file whose process is gone. PostgreSQL would refuse to start should a stranger have that pid
 * by now (usual in containers), but takes its parent's pid for a stale one; the rest of the file it still checks.
 */
async function disownPid(cluster_dir: string): Promise<void> {
  const path = join(cluster_dir, 'postmaster.pid')
  await writeFile(path, (await readFile(path, 'utf8')).replace(/^\d+/, String(process.pid)))
}

async function isPostmasterOf(pid: number, cluster_dir: string): Promise<boolean> {
  return (await commandLine(pid)).includes(`/postgres -D ${cluster_dir} `)
}

async function commandLine(pid: number): Promise<string> {
  if (process.platform === 'linux') {
    return (await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')).replaceAll('\0', ' ')
  }
  const { stdout } = await promisify(execFile)('ps', ['-o', 'command=', '-p', String(pid)]).catch(() => ({
    stdout: '',
  }))
  return stdout
}

async function stopWith(pid: number, signal: NodeJS.Signals, cluster_dir: string, wait_ms: number): Promise<boolean> {
  process.kill(pid, signal)
  const deadline = performance.now() + wait_ms
  while (performance.now() < deadline) {
    if (!(await isPostmasterOf(pid, cluster_dir))) return true
    await pause(20)
  }
  return false
}
