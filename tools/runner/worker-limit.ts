import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join, relative } from 'node:path'
import type { Reporter, TestModule } from 'vitest/node'

/** Far more than a file takes, and than the limits of vitest for a test and its hooks. */
const file_ms_max = Number(process.env.FILE_MS_MAX ?? 15 * 60_000)

/**
 * Ends the worker of a test file that takes too long. Vitest ends tests and hooks by a timer of the worker itself, which never fires
 * in a loop without a pause. The file fails, and the others go on.
 */
export default class WorkerLimit implements Reporter {
  readonly #timers = new Map<string, NodeJS.Timeout>()

  /** The limit begins before the file is loaded, which may loop as well. */
  onTestModuleQueued({ moduleId }: TestModule): void {
    this.#timers.set(
      moduleId,
      setTimeout(() => endWorkerOf(moduleId), file_ms_max),
    )
  }

  onTestModuleEnd({ moduleId }: TestModule): void {
    clearTimeout(this.#timers.get(moduleId))
  }

  onTestRunEnd(): void {
    for (const timer of this.#timers.values()) clearTimeout(timer)
  }
}

function endWorkerOf(file: string): void {
  const { WORKERS_IN = '' } = process.env
  const workers = existsSync(WORKERS_IN) ? readdirSync(WORKERS_IN) : []
  for (const pid of workers.filter((name) => readFileSync(join(WORKERS_IN, name), 'utf8') === file)) {
    console.error(`\n${relative(process.cwd(), file)} took longer than ${file_ms_max / 1000} s: its worker was ended`)
    try {
      process.kill(Number(pid), 'SIGKILL')
    } catch {
      // It has just ended.
    }
    rmSync(join(WORKERS_IN, pid), { force: true })
  }
}
