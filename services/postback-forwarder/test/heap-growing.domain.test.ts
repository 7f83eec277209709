import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'

test('V8 knows the flag by which old tries are collected early', () => {
  const flags = execFileSync(process.execPath, ['--v8-options'], { encoding: 'utf8', timeout: 60_000 })
  expect(flags).toMatch(/^ +--heap-growing-percent /m)
})
