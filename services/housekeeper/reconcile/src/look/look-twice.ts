import { untilWritten } from '@tributary/audited/until-written'
import type { Broker } from '@tributary/broker/broker'
import { consumers } from '@tributary/contracts/consumers'
import { limits } from '@tributary/contracts/limits'
import { type Difference, type Looked, merged, nameOf } from './findings.ts'
import { firstLook, type Suspects } from './suspects.ts'

export interface LookTwiceDeps {
  broker: Pick<Broker, 'groupOffsets'>
  /** Resolves after this time; rejects when the signal fires. */
  sleep(ms: number, signal: AbortSignal): Promise<void>
}

/** A look at some part of the stores. */
export type Look = (suspects: Suspects) => Promise<Looked>

/** Resolves when the writers have written what the log held at the call. */
export async function untilAllWritten(broker: Pick<Broker, 'groupOffsets'>, signal: AbortSignal): Promise<void> {
  for (const group of [consumers.eventWriter, consumers.clickWriter, consumers.postbackWriter])
    await untilWritten(broker, signal, group)
}

/**
 * The differences that second looks find again. What is missing may be under way from the audit store to the log, a batch may be half
 * written, an erasure may have begun, an object may have been rewritten: all that is over when the second looks come.
 */
export async function lookTwice(
  { broker, sleep }: LookTwiceDeps,
  looks: readonly Look[],
  signal: AbortSignal,
): Promise<Looked> {
  const hours = new Set<string>()
  const suspected: { look: Look; found: Difference[]; second: Suspects }[] = []
  for (const look of looks) {
    signal.throwIfAborted()
    const { first, second } = firstLook()
    const looked = await look(first)
    for (const hour of looked.hours) hours.add(hour)
    const found = merged(looked.differences)
    if (found.length > 0) suspected.push({ look, found, second: second(new Set(found.map((one) => one.hour_ms))) })
  }
  const differences: Difference[] = []
  if (suspected.length === 0) return { hours, differences }
  await sleep(limits.reconcile_again_ms, signal)
  await untilAllWritten(broker, signal)
  for (const { look, found, second } of suspected) {
    signal.throwIfAborted()
    const looked = await look(second)
    differences.push(...foundAgain(found, merged(looked.differences)))
  }
  return { hours, differences }
}

/** What two looks have found. The second one reads less: what should be there is what the first one has counted. */
function foundAgain(first: readonly Difference[], second: readonly Difference[]): Difference[] {
  const byName = new Map(first.map((one) => [nameOf(one), one]))
  return second.flatMap((one) => {
    const before = byName.get(nameOf(one))
    if (before === undefined) return []
    const expected = Math.max(before.expected, one.expected)
    return [{ ...one, expected, found: expected + one.found - one.expected }]
  })
}
