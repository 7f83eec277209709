import { day_ms, hour_ms } from '@tributary/contracts/limits'
import { utcDay } from '@tributary/domain/utc-day'
import { hourOf } from '../look/findings.ts'
import type { NamedObject } from '../look/list-objects.ts'
import type { ReconciledHours } from './reconciled-hours.ts'

interface Known {
  /** The hours that were compared, with what there was of them. */
  known: ReconciledHours
  /** Events by UTC day of receipt, as the tables count them now. */
  events: ReadonlyMap<string, number>
  /** The first hour that may be due, Unix epoch ms, and the exclusive end. */
  first_ms: number
  until_ms: number
}

/** UTC days of which the tables have fewer events than when their hours were compared: rows are gone. */
export function fallenDays(known: ReconciledHours, events: ReadonlyMap<string, number>): Set<string> {
  const fallen = new Set<string>()
  for (const [at_ms, then] of known) if ((events.get(utcDay(at_ms)) ?? 0) < then.events) fallen.add(utcDay(at_ms))
  return fallen
}

/**
 * Which hours of an app are compared: those with another number of objects than when they were, and all of a day whose rows are gone.
 * Objects are counted first.
 */
export function dueHours({ known, events, first_ms, until_ms }: Known) {
  const counted = new Map<number, number>()
  const fallen = fallenDays(known, events)
  const isDue = (at_ms: number) => {
    if (at_ms < first_ms || at_ms >= until_ms) return false
    return fallen.has(utcDay(at_ms)) || (counted.get(at_ms) ?? 0) !== known.get(at_ms)?.objects
  }
  return {
    isDue,
    count(objects: readonly NamedObject[]) {
      for (const { received_at_ms } of objects) {
        if (received_at_ms === null) continue
        const hour = hourOf(received_at_ms)
        counted.set(hour, (counted.get(hour) ?? 0) + 1)
      }
    },
    /** Those whose names show a due hour. */
    choose: (objects: readonly NamedObject[]) =>
      objects.filter(({ received_at_ms }) => received_at_ms !== null && isDue(hourOf(received_at_ms))),
    /** Whether objects of a folder are read whose names show no hour, although they were compared. */
    isWhole: (day: string) => fallen.has(day),
    /** What there is of the hours of these days that are compared now. */
    compared: (days: readonly string[]): ReconciledHours =>
      new Map(
        days
          .flatMap((day) => Array.from({ length: day_ms / hour_ms }, (_, hour) => Date.parse(day) + hour * hour_ms))
          .filter(isDue)
          .map((at_ms) => [at_ms, { objects: counted.get(at_ms) ?? 0, events: events.get(utcDay(at_ms)) ?? 0 }]),
      ),
  }
}
