import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { freePorts } from '../engines/ports.ts'
import { serviceFlags } from '../standalone/service-flags.ts'

/** The checkout of this file. */
export const thisCheckout = join(import.meta.dirname, '..', '..')
const ready_ms_max = 180_000

/** A service in its own process. It keeps its address over restarts. */
export interface FleetProcess {
  name: string
  url: string
  /** The id of the present process. */
  pid(): number
  lives(): boolean
  /** The log of all its processes. */
  log(): string
  /** Resolves with the exit code once the present process has ended; null after a signal. */
  exited(): Promise<number | null>
  /** kill -9. Resolves once the process has ended. */
  kill(): Promise<void>
  /** SIGTERM. Resolves with the exit code. */
  stop(): Promise<number | null>
  /** Starts it again on the same address, with `env` from now on. Resolves once it is ready. */
  restart(env?: Record<string, string>): Promise<void>
  /** SIGCONT, after a SIGSTOP. */
  resume(): void
}

export interface FleetProcessOptions {
  name: string
  /** Path of the program from the root of the checkout. */
  program: string
  /** Root of the checkout that it is of. */
  checkout: string
  env: Record<string, string>
  /** The folder of its log file. */
  dir: string
  reaper: Reaper
}

/** Starts a service on a free port and resolves once it is ready. */
export async function startFleetProcess(options: FleetProcessOptions): Promise<FleetProcess> {
  const { name, program, checkout, dir, reaper } = options
  const [port = 0] = await freePorts(1)
  const url = `http://127.0.0.1:${port}`
  const file = join(dir, `${name}.log`)
  let env = { ...options.env, TRIBUTARY_PORT: String(port) }

  function launch() {
    const log = openSync(file, 'a')
    const child = spawn(process.execPath, [...serviceFlags, join(checkout, program)], {
      cwd: checkout,
      env: { ...withoutSettings(process.env), ...env },
      stdio: ['ignore', log, log],
      detached: true, // keeps a Ctrl-C of the terminal from the service
    })
    closeSync(log)
    const { pid = 0 } = child
    reaper.add(pid)
    const exited = once(child, 'exit').then(([code]) => {
      reaper.remove(pid)
      return code as number | null
    })
    return { child, exited }
  }

  async function untilReady({ child }: { child: ChildProcess }) {
    for (const deadline = Date.now() + ready_ms_max; ; await pause(50)) {
      const answer = await fetch(`${url}/ready`, { signal: AbortSignal.timeout(2000) }).catch(() => null)
      await answer?.arrayBuffer()
      if (answer?.status === 200) return
      const over = child.exitCode !== null || child.signalCode !== null
      if (over || Date.now() > deadline) throw new Error(`${name} was not ready:\n${logOf(file).slice(-2000)}`)
    }
  }

  let current = launch()
  const signal = (word: NodeJS.Signals) => process.kill(current.child.pid ?? 0, word)
  const lives = () => current.child.exitCode === null && current.child.signalCode === null
  const fleetProcess: FleetProcess = {
    name,
    url,
    lives,
    pid: () => current.child.pid ?? 0,
    log: () => logOf(file),
    exited: () => current.exited,
    async kill() {
      if (lives()) signal('SIGKILL')
      await current.exited
    },
    async stop() {
      if (lives()) signal('SIGTERM')
      return current.exited
    },
    async restart(changed = {}) {
      env = { ...env, ...changed }
      current = launch()
      await untilReady(current)
    },
    resume: () => signal('SIGCONT'),
  }
  await untilReady(current)
  return fleetProcess
}

const logOf = (file: string): string => readFileSync(file, 'utf8')

/** The environment without settings of Tributary, which only the fleet gives. */
export const withoutSettings = (env: NodeJS.ProcessEnv) =>
  Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('TRIBUTARY_')))

/** Ends processes with kill -9 when this process ends, however it ends. */
export interface Reaper {
  add(pid: number): void
  remove(pid: number): void
  /** Ends all remaining processes and deletes the folder. */
  close(): Promise<void>
}

/** Reads `+ pid` and `- pid`. Its input ends when this process ends. */
const reaping = `
dir=$1
pids=
while read -r sign pid; do
  if [ "$sign" = + ]; then pids="$pids $pid"; continue; fi
  rest=
  for one in $pids; do [ "$one" = "$pid" ] || rest="$rest $one"; done
  pids=$rest
done
[ -z "$pids" ] || kill -9 $pids 2>/dev/null
rm -rf "$dir"`

/** Starts a reaper, which also deletes `dir` at the end. */
export function startReaper(dir: string): Reaper {
  const child = spawn('sh', ['-c', reaping, 'sh', dir], { detached: true, stdio: ['pipe', 'ignore', 'ignore'] })
  const exited = once(child, 'exit')
  child.stdin.on('error', () => {})
  return {
    add: (pid) => void child.stdin.write(`+ ${pid}\n`),
    remove: (pid) => void child.stdin.write(`- ${pid}\n`),
    async close() {
      child.stdin.end()
      await exited
    },
  }
}
