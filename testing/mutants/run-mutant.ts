import { join } from 'node:path'
import type { TestCase, TestModule } from 'vitest/node'
import { startVitest } from 'vitest/node'
import { type Mutant, mutate, root } from './mutant.ts'

/** What a run is asked for. Without a mutant the files are tested as they are. */
export interface Job {
  tests: readonly string[]
  /** Parts of the names of the tests that run; none: all. */
  names: readonly string[]
  mutant: Mutant | null
  workers: number
}

export type Outcome =
  | { result: 'caught'; test: string }
  | { result: 'SURVIVED'; tests: number }
  | { result: 'error'; why: string }

/** A condition that a test waits for comes in far less, or the fault keeps it away. */
const poll_ms_max = 30_000
/** A test that takes longer counts as failed by its fault. */
const test_ms_max = 60_000
/** Only a test that hangs takes so long: the limit of vitest.config.ts. */
const hang_ms = 300_000

if (process.send !== undefined) {
  process.once('message', async (job: Job) => {
    const outcome = await runJob(job).catch((error): Outcome => ({ result: 'error', why: String(error) }))
    process.send!(outcome, () => process.exit())
  })
}

/** Runs test files in this process and its workers, with the fault in the one file; files on disk stay as they are. */
async function runJob({ tests, names, mutant, workers }: Job): Promise<Outcome> {
  let isLoaded = false
  let listFault: string | null = null
  const putFault = {
    name: 'put-fault',
    enforce: 'pre' as const,
    transform(code: string, id: string) {
      if (mutant === null || id.split('?')[0] !== join(root, mutant.file)) return
      isLoaded = true
      try {
        return { code: mutate(mutant, code), map: null }
      } catch (error) {
        listFault = (error as Error).message
        throw error
      }
    },
  }
  const limit_ms = mutant === null ? hang_ms : test_ms_max
  const vitest = await startVitest(
    [],
    {
      ...{ root, config: false, watch: false, run: true, reporters: [{}], bail: 1, passWithNoTests: true },
      ...{ include: [...tests], exclude: [], setupFiles: [join(root, 'tools', 'runner', 'fixed-seed.ts')] },
      ...{ pool: 'forks', isolate: true, maxWorkers: workers, testTimeout: limit_ms, hookTimeout: hang_ms },
      // A cached file would stand in for the one with the fault, and the other way round in later runs.
      fsModuleCache: false,
      expect: { poll: { timeout: mutant === null ? 180_000 : poll_ms_max } },
      ...(names.length > 0 && { testNamePattern: new RegExp(names.map(RegExp.escape).join('|')) }),
    },
    { plugins: [putFault] },
  )
  const modules = vitest.state.getTestModules()
  const unhandled = vitest.state.getUnhandledErrors()
  await vitest.close()
  if (listFault !== null) return { result: 'error', why: listFault }
  if (mutant !== null && !isLoaded) return { result: 'error', why: `no test loads ${mutant.file}` }
  return judge(modules, unhandled, tests)
}

/** A file that does not load, hooks that fail and names that are not there say nothing of the fault. */
function judge(modules: readonly TestModule[], unhandled: readonly unknown[], tests: readonly string[]): Outcome {
  const cases = modules.flatMap((module) => [...module.children.allTests()])
  const failed = cases.find((test) => test.result().state === 'failed')
  if (failed !== undefined) {
    const why = messageOf(failed)
    return /^(ReferenceError|SyntaxError)/.test(why)
      ? { result: 'error', why }
      : { result: 'caught', test: failed.fullName }
  }
  const missing = tests.find((file) => !modules.some(({ moduleId }) => moduleId === join(root, file)))
  if (missing !== undefined) return { result: 'error', why: `${missing} did not run` }
  const broken = modules.flatMap((module) => [
    ...module.errors(),
    ...[...module.children.allSuites()].flatMap((suite) => suite.errors()),
  ])
  const [fault] = [...broken.map(({ message }) => message), ...unhandled.map(String)]
  if (fault !== undefined) return { result: 'error', why: fault }
  const passed = cases.filter((test) => test.result().state === 'passed').length
  return passed === 0 ? { result: 'error', why: 'no test ran' } : { result: 'SURVIVED', tests: passed }
}

function messageOf(test: TestCase): string {
  const [error] = test.result().errors ?? []
  return error === undefined ? '' : `${error.name}: ${error.message}`
}
