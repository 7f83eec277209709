import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { day_ms, limits } from '@tributary/contracts/limits'
import { expect, test } from 'vitest'
import { openGuesses } from '../../src/people/guesses.ts'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

const heapBytes = () => {
  collect()
  return process.memoryUsage().heapUsed
}

test('a guess takes the same memory, however long its email is', () => {
  const guesses = openGuesses(() => 0)
  const before = heapBytes()
  const guesses_made = 5000
  // 254 characters of an email, each of which is 18 in its one spelling (NFKC).
  for (let n = 0; n < guesses_made; n += 1) guesses.spend(`192.0.2.1 ${'\uFDFA'.repeat(254).normalize('NFKC')}${n}`)
  expect((heapBytes() - before) / guesses_made).toBeLessThan(1000)
  guesses.forgive('192.0.2.1')
})

test('a wait that a clock ahead began is no longer than any other', () => {
  let now_ms = day_ms
  const guesses = openGuesses(() => now_ms)
  for (let n = 0; n < limits.sign_in_failures_free; n += 1) guesses.spend('a pair')
  now_ms = 0
  expect(() => guesses.spend('a pair')).toThrow()
  now_ms += limits.sign_in_wait_ms
  guesses.spend('a pair')
})
