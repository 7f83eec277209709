import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
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
