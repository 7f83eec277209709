import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { AcceptedEvent } from '../src/accept-event.ts'
import { countOnce } from '../src/count-once.ts'
import { eventKey, isInstall } from '../src/event-key.ts'

const event = fc.record({
  install_uuid: fc.constantFrom('i-1', 'i-2', 'i-3'),
  event_id: fc.constantFrom('e-1', 'e-2', 'e-3', 'i-1'),
  event_name: fc.constantFrom('level_up', 'app_install'),
  props: fc.constantFrom(undefined, {}, { identity_migration: true }),
}) as fc.Arbitrary<AcceptedEvent>

test('counts events by the key that makes two events of a day one', () => {
  fc.assert(
    fc.property(fc.array(event), (events) => {
      const keys = events.map(({ install_uuid, event_id, event_name, props }) => {
        const install = isInstall(event_name, props as Record<string, unknown> | undefined)
        return eventKey({ install_uuid, event_id: event_id as string, day: '2026-01-01', install }).event_key
      })
      expect(countOnce(events)).toBe(new Set(keys).size)
    }),
    { numRuns: 2000 },
  )
})
