import type { DecidedAt } from '@tributary/contracts/attribution/decision'
import { isBehind } from '@tributary/domain/attribute/decisions'
import { expect, test } from 'vitest'

const written: DecidedAt = { log: 'b', offset: 7, try: 2 }

test.each<[string, Partial<DecidedAt>, boolean]>([
  ['the same one again', {}, true],
  ['an earlier try', { try: 1 }, true],
  ['a later try', { try: 3 }, false],
  ['an earlier record, whatever its try', { offset: 6, try: 9 }, true],
  ['a later record, whatever its try', { offset: 8, try: 1 }, false],
  ['an older log, whatever its offset', { log: 'a', offset: 99, try: 9 }, true],
  ['a newer log, whatever its offset', { log: 'c', offset: 0, try: 1 }, false],
])('a decision is behind a written one or not: %s', (_what, given, behind) => {
  expect(isBehind({ ...written, ...given }, written)).toBe(behind)
})
