import { expect, test } from 'vitest'
import { findFaults, growth_mib_max, type Outcome } from '../../attack/judge.ts'
import { victim_ms_max } from '../../attack/victim.ts'

const attack = { expected: ['429 rate_limited'], allowed: ['200'] }
const times = { requests: 30, p50_ms: 5, p99_ms: 20, max_ms: 40 }
const slow = { ...times, p99_ms: 401 }
const victim = { ...times, accepted: 60, steps: { event: times, verdict: { ...times, p99_ms: 400 } }, faults: [] }
const harmless: Outcome = {
  victim,
  control: { ...victim, steps: { event: times, verdict: { ...times, p99_ms: 200 } } },
  reported: 60,
  answers: { '200': 3, '429 rate_limited': 9 },
  memory_mib: { before: 200, peak: 300 },
  faults: [],
}

test('an attack that is refused and harms nobody has no fault, also where memory is unknown', () => {
  expect(findFaults(attack, harmless)).toEqual([])
  expect(findFaults(attack, { ...harmless, memory_mib: null })).toEqual([])
})

test('an attack may have a limit of memory of its own', () => {
  expect(findFaults({ ...attack, growth_mib_max: 99 }, harmless)).toEqual(['memory grew by 100 MiB'])
})

test.each<[string, Partial<Outcome>]>([
  ['a victim that was refused', { victim: { ...victim, faults: ['/event answered 503 unavailable'] } }],
  ['a victim that waited', { victim: { ...victim, max_ms: victim_ms_max + 1 } }],
  ['a victim whose installs took more than twice as long', { victim: { ...victim, steps: { verdict: slow } } }],
  ['a victim without an accepted event', { victim: { ...victim, accepted: 0 }, reported: 0 }],
  ['a lost event', { reported: 59 }],
  ['a doubled event', { reported: 61 }],
  ['too much memory', { memory_mib: { before: 200, peak: 201 + growth_mib_max } }],
  ['an attacker that was never refused', { answers: { '200': 12 } }],
  ['an answer that nobody expected', { answers: { ...harmless.answers, 'no answer': 1 } }],
  ['a fault from the check of the attack', { faults: ['10000 events of a company with a quota of 1000'] }],
])('%s is one fault', (_what, change) => {
  expect(findFaults(attack, { ...harmless, ...change })).toHaveLength(1)
})
