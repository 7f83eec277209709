import { StatedAttribution } from '@tributary/contracts/attribution/stated'
import type { EnvelopeFacts } from '@tributary/contracts/envelope'
import { type EventFault, findEventFault } from './accept-event.ts'

/** The only event that may state an attribution. */
const event_name = 'app_install'

/**
 * `findEventFault` for a key that may state attributions (docs/rules.md#stated-attribution). For other keys `attribution` is a field
 * like any that has no name.
 */
export const findStatingFault: typeof findEventFault = (event, source, now_ms) => {
  const fault = findEventFault(event, source, now_ms)
  if (fault !== null) return fault
  const { attribution, event_name: name } = event as Record<string, unknown>
  if (attribution === undefined || attribution === null) return null
  if (name === event_name && StatedAttribution.safeParse(attribution).success) return null
  return { reason: 'invalid_field', field: 'attribution' } satisfies EventFault
}

/** The rule for the events of a request, by its key. */
export const faultRuleOf = ({
  states_attribution,
}: Pick<EnvelopeFacts, 'states_attribution'>): typeof findEventFault =>
  states_attribution ? findStatingFault : findEventFault

/** The message of a refused attribution, for people. */
export function statedMessage(event: Record<string, unknown>): string {
  if (event.event_name !== event_name) return `attribution belongs to ${event_name} alone.`
  const { error } = StatedAttribution.safeParse(event.attribution)
  const [issue] = error?.issues ?? []
  const [field = 'attribution'] = issue?.path ?? []
  return `attribution: ${String(field)} has a wrong form (docs/rules.md#stated-attribution).`
}

/** The attribution that an event states; null without one. `event` is of a key that may state it. */
export function statedAttribution(event: Record<string, unknown>): StatedAttribution | null {
  if (event.event_name !== event_name) return null
  return StatedAttribution.safeParse(event.attribution).data ?? null
}
