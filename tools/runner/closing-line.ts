import { writeFileSync } from 'node:fs'
import { relative } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import type { Reporter, TestModule } from 'vitest/node'
import { findKeptLeaks } from '../log-check/find-leaks.ts'
import { type FailedFile, findHungFiles } from './hung-files.ts'

/** What a file should take at most. */
const file_s_max = Number(process.env.TEST_FILE_S_MAX ?? 60)
/** Workers end within seconds of their last test. */
const close_ms_max = Number(process.env.CLOSE_MS_MAX ?? 20_000)

/**
 * Closes a run with the time of each ring and `N passed, N failed`. A file that fails to load, an error outside of tests, and secrets in the logs of
 * started programs count as failed.
 */
export default class ClosingLine implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly unknown[]): void {
    let passed = 0
    let skipped = 0
    let failed = unhandledErrors.length
    for (const module of modules) {
      const tests = [...module.children.allTests()]
      if (
        tests.length === 0 ||
        (module.state() === 'failed' && tests.every((test) => test.result().state !== 'failed'))
      ) {
        failed += 1
      }
      for (const test of tests) {
        const { state } = test.result()
        if (state === 'passed') passed += 1
        else if (state === 'skipped') skipped += 1
        else failed += 1
      }
    }
    const clean = logsAreClean()
    const { HUNG_FILES_IN } = process.env
    if (HUNG_FILES_IN !== undefined && unhandledErrors.length === 0 && clean !== false) {
      const hung = findHungFiles(modules.filter((module) => module.state() === 'failed').map(toFailedFile))
      writeFileSync(HUNG_FILES_IN, JSON.stringify(hung))
    }
    for (const line of ringTimes(modules)) console.info(line)
    for (const line of failures(modules)) console.info(line)
    if (clean === true) passed += 1
    if (clean === false) failed += 1
    console.info(`\n${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`)
    if (failed > 0 || passed === 0) process.exitCode = 1
    // A process that a test left behind holds the output of its worker, and vitest waits for the end of that. What
    // vitest does after this, such as a report of coverage, has the same time.
    setTimeout(() => process.exit(), close_ms_max).unref()
  }
}

const toFailedFile = (module: TestModule): FailedFile => ({
  file: module.moduleId,
  tests: [...module.children.allTests()].map((test) => (test.result().errors ?? []).map(({ message }) => message)),
  hooks: [...module.errors(), ...[...module.children.allSuites()].flatMap((suite) => suite.errors())].map(
    ({ message }) => message,
  ),
})

/** How long each ring took, all workers together, and each file that took longer than it should. */
function ringTimes(modules: readonly TestModule[]): string[] {
  const rings = Map.groupBy(modules, (module) => module.project.name)
  return [...rings].flatMap(([ring, files]) => {
    const timed = files.map((module) => ({ file: relative(process.cwd(), module.moduleId), took_s: seconds(module) }))
    const total_s = timed.reduce((sum, { took_s }) => sum + took_s, 0)
    const slow = timed.filter(({ took_s }) => took_s > file_s_max).toSorted((a, b) => b.took_s - a.took_s)
    return [
      `${ring}: ${files.length} files, ${total_s.toFixed(0)} s`,
      ...slow.map(({ file, took_s }) => `  ${took_s.toFixed(0)} s ${file}`),
    ]
  })
}

function seconds(module: TestModule): number {
  const { collectDuration, duration, environmentSetupDuration, prepareDuration, setupDuration } = module.diagnostic()
  return (collectDuration + duration + environmentSetupDuration + prepareDuration + setupDuration) / 1000
}

/** Names of failed tests with the first lines of their errors. They stand at the end, because a cut log keeps its last lines. */
function failures(modules: readonly TestModule[]): string[] {
  const lines: string[] = []
  const add = (what: string, errors: readonly { message: string; diff?: string }[] | undefined) => {
    const why = (errors?.[0]?.message ?? '').split('\n').slice(0, 4).join(' ')
    const differing = stripVTControlCharacters(errors?.[0]?.diff ?? '')
      .split('\n')
      .filter((line) => /^[-+] {2}/.test(line))
    lines.push(
      `FAILED ${what}: ${why.slice(0, 1000)}`,
      ...differing.slice(0, 6).map((line) => `  ${line.slice(0, 200)}`),
    )
  }
  for (const module of modules.filter((module) => module.state() === 'failed')) {
    const file = relative(process.cwd(), module.moduleId)
    if (module.errors().length > 0) add(file, module.errors())
    for (const suite of module.children.allSuites()) {
      if (suite.errors().length > 0) add(`${file} > ${suite.fullName}`, suite.errors())
    }
    for (const test of module.children.allTests('failed')) add(`${file} > ${test.fullName}`, test.result().errors)
  }
  return lines.slice(0, 40)
}

/** Whether the kept logs hold no secret; null when no log was kept. */
function logsAreClean(): boolean | null {
  const dir = process.env.KEEP_STDERR_IN
  if (dir === undefined) return null
  const { programs, leaks } = findKeptLeaks(dir)
  if (programs === 0) return null
  console.info(`\nThe logs of ${programs} programs hold ${leaks.length === 0 ? 'no secret.' : 'SECRETS:'}`)
  for (const { what, program, line } of leaks.slice(0, 50)) console.info(`  ${what}, ${program}\n    ${line}`)
  return leaks.length === 0
}
