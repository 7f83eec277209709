import type { Attack } from './attack.ts'
import { type VictimFigures, type VictimStep, victim_ms_max, victimSteps } from './victim.ts'

/** Largest growth of anonymous memory in one attack: 256 MiB for the judging thread, what it inflates, and 64 MiB of bodies. */
export const growth_mib_max = 640

/** An attack may make the slowest hundredth of a victim's requests this many times slower. */
const slower_max = 2
/** A machine with two cores delays a request by less than this by itself, ms. */
const slow_ms_min = 100
/** The same of single steps: a large batch may wait for one or two of the attacker's, and a run takes an erasure within ten seconds. */
const slow_step_ms_min: Partial<Record<VictimStep, number>> = { large: 2500, erased: 15_000 }

export interface Outcome {
  victim: VictimFigures
  /** The figures of a victim that nobody attacked; null where the attack was too short to compare. */
  control: VictimFigures | null
  /** Number of the victim's events in its report. */
  reported: number
  answers: Record<string, number>
  /** Anonymous resident memory; null where the system does not provide it. */
  memory_mib: { before: number; peak: number } | null
  /** Faults that the attack itself found. */
  faults: readonly string[]
}

/** The faults of the outcome of an attack; empty when there is none. */
export function findFaults(
  attack: Pick<Attack, 'expected' | 'allowed' | 'growth_mib_max'>,
  outcome: Outcome,
): string[] {
  const { victim, control, reported, answers, memory_mib, faults } = outcome
  const found = [...faults, ...several(victim.faults)]
  if (victim.accepted === 0) found.push('no event of the victim was accepted')
  if (victim.max_ms > victim_ms_max) found.push(`the victim waited ${victim.max_ms} ms`)
  for (const step of victimSteps) {
    const [seen, alone] = [victim.steps[step], control?.steps[step]]
    if (seen === undefined || alone === undefined) continue
    const most_ms = Math.max(slow_step_ms_min[step] ?? slow_ms_min, slower_max * alone.p99_ms)
    if (seen.p99_ms > most_ms) found.push(`p99 of ${step}: ${seen.p99_ms} ms, and ${alone.p99_ms} ms in the control`)
  }
  if (reported !== victim.accepted) found.push(`${victim.accepted} events of the victim accepted, ${reported} reported`)
  const grown = memory_mib === null ? 0 : memory_mib.peak - memory_mib.before
  if (grown > (attack.growth_mib_max ?? growth_mib_max)) found.push(`memory grew by ${grown} MiB`)
  for (const name of attack.expected) if (!(name in answers)) found.push(`the attacker was never answered ${name}`)
  const known = [...attack.expected, ...attack.allowed]
  for (const name of Object.keys(answers)) if (!known.includes(name)) found.push(`the attacker got: ${name}`)
  return found
}

/** The first fault, with the number of others. */
const several = ([first, ...others]: readonly string[]): string[] =>
  first === undefined ? [] : [others.length === 0 ? first : `${first} (and ${others.length} more)`]
