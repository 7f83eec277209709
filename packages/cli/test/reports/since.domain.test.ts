import { InvalidArgumentError } from 'commander'
import { expect, test } from 'vitest'
import { instantAt } from '../../src/arguments.ts'

const now_ms = Date.UTC(2026, 2, 1, 13, 14)

test.each([
  ['2026-02-28', Date.UTC(2026, 1, 28)],
  ['2026-02-28T01:00:00+01:00', Date.UTC(2026, 1, 28)],
  ['1772236800000', 1772236800000],
  ['today', Date.UTC(2026, 2, 1)],
  ['0d', Date.UTC(2026, 2, 1)],
  ['yesterday', Date.UTC(2026, 1, 28)],
  ['7d', Date.UTC(2026, 1, 22)],
  ['365d', Date.UTC(2025, 2, 1)],
])('a time may be written as %s', (text, at_ms) => {
  expect(instantAt(text, now_ms)).toBe(at_ms)
})

test.each(['7', 'd', '-1d', '7 d', '1.5d', 'tomorrow', 'constructor', '2026-02-30'])('%s is no time', (text) => {
  expect(() => instantAt(text, now_ms)).toThrow(InvalidArgumentError)
})
