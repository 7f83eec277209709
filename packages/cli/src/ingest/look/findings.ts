import { moneyEvents } from '@tributary/contracts/rows'
import { isEventField } from './meant-field.ts'

/** Names that are kept: a file may have a new one on every line. */
const names_max = 1000

/** What events have that may be a mistake of whoever wrote the file. */
export class Findings {
  /** Lines with an event. */
  events = 0
  /** Top-level names that are no field of an event, in the order of the file. */
  readonly unknown = new Set<string>()
  /** Events without `revenue` whose name tells of money, by that name. */
  readonly without_revenue = new Map<string, number>()

  add(event: Record<string, unknown>): void {
    this.events += 1
    for (const name of Object.keys(event)) {
      if (!isEventField(name) && this.unknown.size < names_max) this.unknown.add(name)
    }
    const { event_name, revenue } = event
    if (typeof event_name !== 'string' || !moneyEvents.includes(event_name)) return
    if (revenue === undefined || revenue === null) {
      this.without_revenue.set(event_name, (this.without_revenue.get(event_name) ?? 0) + 1)
    }
  }
}
