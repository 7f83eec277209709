import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { type StandaloneProcess, startStandaloneProcess, waitUntilNoLag } from '../standalone/standalone-process.ts'

/** A standalone process whose clock stands still, and whose jobs run when a step says so. */
export interface Product {
  url(): string
  setClock(now_ms: number): Promise<void>
  /** Resolves when the lag of every consumer is 0. */
  untilWritten(): Promise<void>
  /** The same once each job has run on what there is. */
  runJobs(): Promise<void>
  /** Has all jobs run that rest, and waits for none of them. */
  wakeJobs(): void
  restart(): Promise<void>
  close(): Promise<void>
}

export const admin_token = 'saved-histories-admin-token-0000'

/** Longer than a process believes the clock that it has read, and looks whether its jobs shall run. */
const believed_ms = 12
/** A job may need another one to have run before it. */
const rounds_of_jobs = 2
const look_ms = 10
const wait_ms_max = 120_000
/** No more jobs come to rest for so long once each job of a new process has had its first run, and after later runs. */
const first_runs_ms = 2000
const calm_ms = 50

/** Starts one on a new folder. `keys`: base64 of the keys in place of Apple's, by that of Apple's own. */
export async function startProduct(now_ms: number, keys: Record<string, string>): Promise<Product> {
  const dir = await mkdtemp(join(tmpdir(), 'tributary-saved-'))
  const clock_file = join(dir, 'clock')
  const clock = { now_ms, wakes: 0 }
  const write = () => {
    writeFileSync(`${clock_file}.new`, JSON.stringify(clock))
    renameSync(`${clock_file}.new`, clock_file)
  }
  write()
  writeFileSync(`${clock_file}.keys`, JSON.stringify(keys))
  const start = () =>
    startStandaloneProcess({
      data_dir: join(dir, 'data'),
      env: {
        NODE_OPTIONS: `--import ${new URL('held-clock.mjs', import.meta.url).href}`,
        HELD_CLOCK: clock_file,
        TRIBUTARY_ADMIN_TOKEN: admin_token,
        TRIBUTARY_TRUSTED_PROXIES: '127.0.0.1',
      },
    })
  let standalone: StandaloneProcess | null = await start()
  let jobs = 0
  const resting = () => JSON.parse(readFileSync(`${clock_file}.jobs`, 'utf8')) as { wakes: number; resting: number }

  /** How many jobs there are: as many as rest once no more come. */
  async function countJobs(still_ms: number) {
    for (let since = performance.now(); performance.now() - since < still_ms; await pause(look_ms)) {
      const found = resting().resting
      if (found > jobs) since = performance.now()
      jobs = Math.max(jobs, found)
    }
  }
  async function runOnce() {
    clock.wakes += 1
    write()
    const deadline = performance.now() + wait_ms_max
    for (;;) {
      await pause(look_ms)
      const seen = resting()
      if (seen.wakes === clock.wakes && seen.resting >= jobs) return countJobs(calm_ms)
      if (performance.now() > deadline) throw new Error(`jobs do not end: ${JSON.stringify(seen)} of ${jobs}`)
    }
  }
  await countJobs(first_runs_ms)
  const url = () => standalone!.url
  return {
    url,
    async setClock(to_ms) {
      clock.now_ms = to_ms
      write()
      await pause(believed_ms)
    },
    untilWritten: () => waitUntilNoLag(url(), admin_token),
    async runJobs() {
      await waitUntilNoLag(url(), admin_token)
      for (let round = 0; round < rounds_of_jobs; round += 1) {
        await runOnce()
        await waitUntilNoLag(url(), admin_token)
      }
    },
    wakeJobs() {
      clock.wakes += 1
      write()
    },
    async restart() {
      const code = await standalone?.stop('SIGTERM')
      if (code !== 0) throw new Error(`the process ended with ${code}:\n${standalone?.output()}`)
      standalone = null
      standalone = await start()
      jobs = 0
      await countJobs(first_runs_ms)
    },
    async close() {
      await standalone?.stop('SIGKILL')
      rmSync(dir, { recursive: true, force: true })
    },
  }
}
