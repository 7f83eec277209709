import { countedEvents, countedMoney } from './counted.ts'
import type { History, SentEvent } from './history.ts'

/** Names a transaction of an app under an event name. */
const transactionOf = ({ app, transaction_id, event_name }: SentEvent): string =>
  JSON.stringify([app, transaction_id, event_name])

/**
 * The history after the erasure of some installs, and what came later: their events and decisions are gone, and the money of a
 * transaction that one of them had counts for nobody any more (docs/rules.md#erasure). `isDropped` are later events that a mark covers.
 */
export function afterErasure(
  history: History,
  isErased: (one: { app: number; install_uuid: string }) => boolean,
  later: History = { events: [], decisions: [] },
  isDropped: (event: SentEvent) => boolean = () => false,
): History {
  const apps = [...Map.groupBy(history.events, ({ app }) => app).values()]
  const best = apps.flatMap((events) => countedMoney(countedEvents(events)))
  const closed = new Set(best.filter((event) => event.transaction_id && isErased(event)).map(transactionOf))
  const withoutMoney = (event: SentEvent) => (closed.has(transactionOf(event)) ? { ...event, revenue: null } : event)
  return {
    ...history,
    events: [
      ...history.events.filter((event) => !isErased(event)),
      ...later.events.filter((event) => !isDropped(event)),
    ].map(withoutMoney),
    decisions: [...history.decisions.filter((decision) => !isErased(decision)), ...later.decisions],
  }
}
