import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { processesWith } from './runner/left-processes.ts'

/**
 * `npm test [-- vitest arguments]`: runs all tests but those of `npm run prove`, and closes with one line `N passed, N failed`. The logs of started
 * programs are kept and searched for secrets (`tools/log-check`), which counts as one more test.
 * The worker of a file that takes too long is ended, and the file fails (`WorkerLimit`).
 * Files in which a test or hook hung run once more, alone, when nothing else failed; a failed promise is never tried again.
 * Processes that tests leave behind are ended. They fail the run with a line behind that one.
 */
const reporters = [
  'default',
  ...['worker-limit.ts', 'closing-line.ts'].map((file) => join(import.meta.dirname, 'runner', file)),
]
const gib = 2 ** 30
const memory_dir = '/dev/shm'
const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
/** chdb stands still for ever once in thousands of openings and statements. More files than this tell of a fault of ours. */
const hung_files_max = 2
/** Engines and services that lost the process which started them end by themselves in far less. */
const left_ms_max = Number(process.env.LEFT_MS_MAX ?? 60_000)
/** A signal ended the run: it waits for no process. */
let isEnded = false
/** Far more than all tests hold at one time. */
const memory_bytes_min = 8 * gib

forgetKilledRuns()
const run = mkdtempSync(join(hasMemory() ? memory_dir : tmpdir(), `tributary-test-${process.pid}-`))
const folder = (name: string) => {
  mkdirSync(join(run, name))
  return join(run, name)
}
const logs = folder('logs')
const preload = pathToFileURL(join(import.meta.dirname, 'log-check', 'keep-stderr.mjs')).href
const hung_file = join(run, 'hung.json')
const env = {
  ...process.env,
  NODE_OPTIONS: `${process.env.NODE_OPTIONS ?? ''} --import=${preload}`.trim(),
  KEEP_STDERR_IN: logs,
  WORKERS_IN: folder('workers'),
  TMPDIR: folder('tmp'),
  // What tests make once and copy.
  KEEP_TEMPLATES_IN: folder('templates'),
  // Tests start hundreds of programs: each file is compiled once, not once a program. The folder of `npm start` would keep
  // what tests make in folders of their own.
  NODE_COMPILE_CACHE: folder('compiled'),
}
const args = process.argv.slice(2)
let code = await runVitest(args.length > 0 ? args : ['--project', '!prove'], { ...env, HUNG_FILES_IN: hung_file })
const hung: string[] = existsSync(hung_file) ? JSON.parse(readFileSync(hung_file, 'utf8')) : []
if (code !== 0 && hung.length > 0 && hung.length <= hung_files_max) {
  console.error(
    `\nTests or hooks of these files hung, and nothing else failed. They run once more, alone:\n${hung.join('\n')}`,
  )
  code = await runVitest(hung, env)
}
const left = await endLeftProcesses()
if (left.length > 0) console.error(`FAILED tests left processes behind:\n${left.join('\n')}`)
rmSync(run, { recursive: true, force: true })
process.exitCode = left.length > 0 ? 1 : code

/** The commands of processes that tests left behind. */
async function endLeftProcesses(): Promise<string[]> {
  const find = () => processesWith(`KEEP_STDERR_IN=${logs}`)
  const end = Date.now() + left_ms_max
  while (find().length > 0 && Date.now() < end && !isEnded) await setTimeout(250)
  const left = find()
  for (const { pid } of left) {
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // It has just ended.
    }
  }
  return left.map(({ command }) => command)
}

function runVitest(args: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  const vitest = spawn('vitest', ['run', ...reporters.map((one) => `--reporter=${one}`), ...args], {
    stdio: 'inherit',
    env: environment,
  })
  // Vitest ends its tests first, and their data goes after that.
  const end = (signal: NodeJS.Signals) => {
    isEnded = true
    vitest.kill(signal)
  }
  for (const signal of signals) process.on(signal, end)
  return new Promise((resolve) => {
    vitest.on('error', (error) => {
      console.error(`vitest could not be started: ${error.message}`)
      resolve(1)
    })
    vitest.on('close', (ended) => {
      for (const signal of signals) process.off(signal, end)
      resolve(ended ?? 1)
    })
  })
}

/** Deletes what runs that ended with kill -9 left in memory. */
function forgetKilledRuns(): void {
  for (const name of existsSync(memory_dir) ? readdirSync(memory_dir) : []) {
    const pid = /^tributary-test-(\d+)-/.exec(name)?.[1]
    if (pid !== undefined && !existsSync(`/proc/${pid}`))
      rmSync(join(memory_dir, name), { recursive: true, force: true })
  }
}

/**
 * Whether the data of tests may lie in memory. Tests kill processes and never the machine, so what they prove is the
 * same, but no test waits for a disk that stands still.
 */
function hasMemory(): boolean {
  try {
    const { bavail, bsize } = statfsSync(memory_dir)
    const available = /^MemAvailable: +(\d+) kB/m.exec(readFileSync('/proc/meminfo', 'utf8'))?.[1]
    return Math.min(bavail * bsize, Number(available) * 1024) >= memory_bytes_min
  } catch {
    return false // not Linux
  }
}
