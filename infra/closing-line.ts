import type { Reporter, TestModule } from 'vitest/node'

/** Closes a run with `N passed, N failed`; a file that fails to load, or an error outside of tests, counts as failed. */
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
    console.info(`\n${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`)
    if (failed > 0 || passed === 0) process.exitCode = 1
  }
}
