import { expect, test } from 'vitest'
import { findHungFiles } from '../runner/hung-files.ts'

const test_hung = 'Test timed out in 300000ms.\nIf this is a long-running test, pass a timeout value.'
const hook_hung = 'Hook timed out in 300000ms.\nIf this is a long-running hook, pass a timeout value.'
const file = (tests: string[][], hooks: string[] = []) => ({ file: 'a.test.ts', tests, hooks })

test.each([
  ['a test hung, and others failed behind it', file([[], [test_hung], ['one engine a process']])],
  ['a hook before the first test hung', file([[hook_hung, 'one engine a process'], ['one engine a process']])],
  ['a hook around all tests hung', file([], [hook_hung])],
])('a file runs once more when %s', (_why, failed) => {
  expect(findHungFiles([failed])).toEqual(['a.test.ts'])
})

test.each([
  ['an assertion failed', file([['expected 1 to be 2']])],
  ['an assertion failed before a test hung', file([['expected 1 to be 2'], [test_hung]])],
  ['the text of an assertion tells of a time-out', file([["expected 'Test timed out in 5ms' to be ''"]])],
  ['a file does not load', file([], ['Cannot find module'])],
])('no file runs once more when %s', (_why, failed) => {
  expect(findHungFiles([file([[test_hung]]), failed])).toEqual([])
})
