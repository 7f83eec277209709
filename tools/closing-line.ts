import { writeFileSync } from 'node:fs'
import type { Reporter, TestModule } from 'vitest/node'
import { findKeptLeaks } from './log-check/find-leaks.ts'

/**
 * Closes a run with `N passed, N failed`. A file that fails to load, an error outside of tests, and secrets in the logs of
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
    const { HUNG_FILES_IN } = process.env
    if (HUNG_FILES_IN !== undefined && unhandledErrors.length === 0) {
      const hung = findHung(modules)
      if (hung !== null) writeFileSync(HUNG_FILES_IN, JSON.stringify(hung))
    }
    const clean = logsAreClean()
    if (clean === false) writeFileSync(HUNG_FILES_IN ?? '/dev/null', '[]')
    if (clean === true) passed += 1
    if (clean === false) failed += 1
    console.info(`\n${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`)
    if (failed > 0 || passed === 0) process.exitCode = 1
  }
}

/**
 * The files that failed, when every one of them failed because a test or hook hung: what fails behind that, in a process whose
 * engine stands still, tells nothing. Null when none failed, or one for another reason.
 */
function findHung(modules: readonly TestModule[]): string[] | null {
  const failed = modules.filter((module) => module.state() === 'failed')
  const errorsOf = (module: TestModule) => [
    ...module.errors(),
    ...[...module.children.allSuites()].flatMap((suite) => suite.errors()),
    ...[...module.children.allTests()].flatMap((test) => test.result().errors ?? []),
  ]
  const isHung = (module: TestModule) => errorsOf(module).some(({ message }) => / timed out in \d+ms/.test(message))
  return failed.length > 0 && failed.every(isHung) ? failed.map(({ moduleId }) => moduleId) : null
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
