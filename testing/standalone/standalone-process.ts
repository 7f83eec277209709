import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { cluster_template, copyTemplate, tables_template } from '../engines/data/template.ts'
import { serviceFlags } from './service-flags.ts'

const root = join(import.meta.dirname, '..', '..')

export interface StandaloneProcess {
  url: string
  pid: number
  /** The output so far. */
  output(): string
  /** The variables of `demo.env` in its data folder. */
  demo(): Record<string, string>
  /** Sends the signal and resolves with the exit code (null: killed) once the process is gone. */
  stop(signal: NodeJS.Signals): Promise<number | null>
}

export interface StandaloneProcessOptions {
  data_dir: string
  env?: Record<string, string>
  /** More flags of node. */
  flags?: readonly string[]
  ready_ms_max?: number
  cwd?: string
  /** A new folder begins with nothing. By default it begins with empty tables, where another test has made them. */
  from_nothing?: boolean
}

/** Starts the standalone process as `npm start` does, on a free port. Resolves once it prints that it is ready. */
export async function startStandaloneProcess(options: StandaloneProcessOptions): Promise<StandaloneProcess> {
  const env = {
    ...process.env,
    TRIBUTARY_PORT: '0',
    TRIBUTARY_LOG_LEVEL: 'warn',
    ...options.env,
    TRIBUTARY_DATA_DIR: options.data_dir,
  }
  mkdirSync(options.data_dir, { recursive: true, mode: 0o700 })
  // A folder that has one of them is not new: a test removed the other.
  const isNew = !readdirSync(options.data_dir).some((name) => name === 'postgres' || name === 'clickhouse')
  if (options.from_nothing !== true && isNew) await copyTables(options.data_dir)
  const child = spawn(
    'node',
    [...serviceFlags, ...(options.flags ?? []), join(root, 'tools/bootstrap.mjs'), 'services/standalone/src/main.ts'],
    {
      // The files that it leaves for commands in its directory are deleted with its data.
      cwd: options.cwd ?? options.data_dir,
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  )
  let output = ''
  const exited = once(child, 'exit')
  const url = await new Promise<string>((resolve, reject) => {
    const timer = setTimeout(() => {
      child.kill('SIGKILL')
      reject(new Error(`not ready in time:\n${output}`))
    }, options.ready_ms_max ?? 180_000)
    const listen = (text: string) => {
      output += text
      const ready = /Tributary is ready at (\S+)/.exec(output)?.[1]
      if (ready === undefined) return
      clearTimeout(timer)
      resolve(ready)
    }
    child.stdout.setEncoding('utf8').on('data', listen)
    child.stderr.setEncoding('utf8').on('data', listen)
    child.on('exit', (code) => {
      clearTimeout(timer)
      reject(new Error(`ended with ${code} before it was ready:\n${output}`))
    })
  })
  return {
    url,
    pid: child.pid ?? 0,
    output: () => output,
    demo: () => readDemo(options.data_dir),
    stop: (signal) => stopChild(child, exited, signal),
  }
}

/** Spares the first start initdb and all migrations, which cost more than the start itself. */
const copyTables = (data_dir: string) =>
  Promise.all([
    copyTemplate(cluster_template, join(data_dir, 'postgres')),
    copyTemplate(tables_template, join(data_dir, 'clickhouse')),
  ])

async function stopChild(child: ChildProcess, exited: Promise<unknown[]>, signal: NodeJS.Signals) {
  child.kill(signal)
  const [code] = await exited
  return code as number | null
}

function readDemo(data_dir: string): Record<string, string> {
  const lines = readFileSync(join(data_dir, 'demo.env'), 'utf8').matchAll(/^export (\w+)=(.*)$/gm)
  return Object.fromEntries([...lines].map(([, name, value]) => [name, value]))
}

/** Resolves when the lag of every consumer is 0. */
export const waitUntilWritten = (url: string, data_dir: string, ms_max = 180_000): Promise<void> =>
  waitUntilNoLag(url, readFileSync(join(data_dir, 'admin-token'), 'utf8').trim(), ms_max)

/** The same of an admin API and its token. */
export async function waitUntilNoLag(url: string, token: string, ms_max = 180_000): Promise<void> {
  const deadline = Date.now() + ms_max
  let seen = ''
  while (Date.now() < deadline) {
    const answer = await fetch(`${url}/admin/api/v1/status`, { headers: { authorization: `Bearer ${token}` } })
    seen = await answer.text()
    const { consumers } = JSON.parse(seen) as { consumers?: { lag: number }[] }
    if (consumers?.every(({ lag }) => lag === 0)) return
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error(`not all was written in time: ${seen}`)
}
