import { untilWritten } from '@tributary/audited/until-written'
import type { Broker } from '@tributary/broker/broker'
import { consumers } from '@tributary/contracts/consumers'
import { limits } from '@tributary/contracts/limits'
import { type Difference, type Looked, nameOf } from './findings.ts'
import type { Suspects } from './look.ts'

export interface LookTwiceDeps {
  broker: Pick<Broker, 'groupOffsets'>
  /** Resolves after this time; rejects when the signal fires. */
  sleep(ms: number, signal: AbortSignal): Promise<void>
}

/** A look at some part of the stores; the second time at the hours alone in which the first one has found something. */
export type Look = (suspects: Suspects | null) => Promise<Looked>

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
  const suspected: { look: Look; found: Difference[] }[] = []
  for (const look of looks) {
    signal.throwIfAborted()
    const first = await look(null)
    for (const hour of first.hours) hours.add(hour)
    if (first.differences.length > 0) suspected.push({ look, found: first.differences })
  }
  const differences: Difference[] = []
  if (suspected.length === 0) return { hours, differences }
  await sleep(limits.reconcile_again_ms, signal)
  await untilAllWritten(broker, signal)
  for (const { look, found } of suspected) {
    signal.throwIfAborted()
    const names = new Set(found.map(nameOf))
    const second = await look(new Set(found.map(({ hour_ms }) => hour_ms)))
    differences.push(...second.differences.filter((one) => names.has(nameOf(one))))
  }
  return { hours, differences }
}
