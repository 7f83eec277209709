import { fork } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { findListFault, type Mutant } from './mutant.ts'
import { mutants } from './mutants.ts'
import type { Job, Outcome } from './run-mutant.ts'

const help = `node tools/bootstrap.mjs testing/mutants/main.ts [--only TEXT]

Runs the tests once without a fault, then with each fault of the list (testing/mutants/lists), two at a time. Each fault breaks a
rule, and a test must fail by it. The files on disk stay as they are.

  --only TEXT   the faults whose rule, promise or file has this text; may be repeated

Exit code 1 unless all are caught.`

const at_once = 2
/** A run that takes longer is ended. */
const run_ms_max = 90_000
/** The same for all tests without a fault. */
const plain_run_ms_max = 15 * 60_000
const memory_dir = '/dev/shm'
const memory_bytes_min = 4 * 2 ** 30
const children = new Set<number>()

const { values } = parseArgs({
  options: { only: { type: 'string', multiple: true }, help: { type: 'boolean', default: false } },
})
const dir = mkdtempSync(join(hasMemory() ? memory_dir : tmpdir(), 'tributary-mutants-'))
const folder = (name: string) => {
  mkdirSync(join(dir, name))
  return join(dir, name)
}
const env = {
  ...process.env,
  TRIBUTARY_TEST_SEED: process.env.TRIBUTARY_TEST_SEED ?? '20261123',
  // A fault of few cases needs more of them than a change does.
  TRIBUTARY_TEST_ROUNDS: '2',
  TMPDIR: folder('tmp'),
  // What tests make once and copy.
  KEEP_TEMPLATES_IN: folder('templates'),
  NODE_COMPILE_CACHE: folder('compiled'),
}
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    for (const pid of children) end(pid)
    rmSync(dir, { recursive: true, force: true })
    process.exit(1)
  })
}
try {
  if (values.help) console.info(help)
  else process.exitCode = (await runAll(values.only ?? [''])) ? 0 : 1
} finally {
  rmSync(dir, { recursive: true, force: true, maxRetries: 5 })
}

async function runAll(texts: readonly string[]): Promise<boolean> {
  const chosen = mutants.filter(({ rule, promise, file }) =>
    texts.some((text) => [rule, promise, file].some((one) => one.includes(text))),
  )
  const faults = chosen.flatMap((mutant) => findListFault(mutant) ?? [])
  for (const fault of faults) console.error(`error  ${fault}`)
  if (chosen.length === 0) console.error('No fault of the list has this text.')
  if (faults.length > 0 || chosen.length === 0) return false
  const begun_ms = performance.now()
  for (const job of plainJobs(chosen)) {
    const plain = await run(job, plain_run_ms_max)
    if (plain.result !== 'SURVIVED') {
      console.error(`Without a fault: ${plain.result === 'error' ? plain.why : `FAILED ${plain.test}`}`)
      return false
    }
    console.info(`${plain.tests} tests of ${job.tests.length} files pass without a fault (${seconds(begun_ms)} s)`)
  }
  const results: Outcome['result'][] = []
  const waiting = [...chosen]
  const runNext = async () => {
    for (let mutant = waiting.shift(); mutant !== undefined; mutant = waiting.shift()) {
      const from_ms = performance.now()
      const outcome = await run(jobOf(mutant), run_ms_max)
      results.push(outcome.result)
      console.info(`${lineOf(mutant, outcome)}, ${seconds(from_ms)} s)`)
    }
  }
  await Promise.all(Array.from({ length: at_once }, runNext))
  const count = (result: Outcome['result']) => results.filter((one) => one === result).length
  console.info(
    `\n${count('caught')} of ${chosen.length} faults caught, ${count('SURVIVED')} survived, ${count('error')} errors of the list, ${seconds(begun_ms)} s`,
  )
  return count('caught') === chosen.length
}

function jobOf(mutant: Mutant): Job {
  return { tests: mutant.tests, names: mutant.only === undefined ? [] : [mutant.only], mutant, workers: 1 }
}

/** The same tests without a fault: whole files, and the named tests of all others. */
function plainJobs(chosen: readonly Mutant[]): Job[] {
  const whole = new Set(chosen.filter(({ only }) => only === undefined).flatMap(({ tests }) => tests))
  const named = chosen.filter(({ tests }) => tests.some((file) => !whole.has(file)))
  const parts = new Set(named.flatMap(({ tests }) => tests.filter((file) => !whole.has(file))))
  const names = [...new Set(named.flatMap(({ only }) => only ?? []))]
  const jobs = [
    { tests: [...whole], names: [] },
    { tests: [...parts], names },
  ]
  return jobs.filter(({ tests }) => tests.length > 0).map((job) => ({ ...job, mutant: null, workers: at_once }))
}

function lineOf({ rule, promise, file }: Mutant, outcome: Outcome): string {
  const what = `${outcome.result.padEnd(8)}  ${rule}: ${promise}  (`
  if (outcome.result === 'caught') return what + outcome.test
  if (outcome.result === 'error') return `${what}${outcome.why.split('\n')[0]!.slice(0, 300)}`
  return `${what}${outcome.tests} tests passed with the fault in ${file}`
}

function seconds(from_ms: number): string {
  return ((performance.now() - from_ms) / 1000).toFixed(1)
}

/** Runs a job in a process of its own, and ends that process with all that it started in its group. */
function run(job: Job, ms_max: number): Promise<Outcome> {
  const child = fork(join(import.meta.dirname, 'run-mutant.ts'), {
    ...{ env, detached: true, serialization: 'advanced' },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  const pid = child.pid!
  children.add(pid)
  child.send(job)
  const { promise, resolve } = Promise.withResolvers<Outcome>()
  const timer = setTimeout(() => resolve({ result: 'error', why: `took over ${ms_max / 1000} s` }), ms_max)
  child.once('message', (outcome: Outcome) => resolve(outcome))
  child.once('close', (code, signal) => resolve({ result: 'error', why: `ended with ${signal ?? code}` }))
  return promise.finally(() => {
    clearTimeout(timer)
    end(pid)
    children.delete(pid)
  })
}

function end(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // It has just ended.
  }
}

/** Whether the data of tests may lie in memory, as in tools/test.ts. */
function hasMemory(): boolean {
  try {
    const { bavail, bsize } = statfsSync(memory_dir)
    return bavail * bsize >= memory_bytes_min
  } catch {
    return false // not Linux
  }
}
