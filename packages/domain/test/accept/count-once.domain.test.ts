import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { AcceptedEvent } from '../../src/accept/accept-event.ts'
import { countOnce } from '../../src/accept/count-once.ts'
import { duplicateDays, eventKey, isInstall } from '../../src/event-key.ts'

const day_ms = 24 * 3600 * 1000
const received_at_ms = Date.UTC(2026, 0, 3, 1)

const event = fc.record({
  install_uuid: fc.constantFrom('i-1', 'i-2', 'i-3'),
  event_id: fc.constantFrom('e-1', 'e-2', 'e-3', 'i-1'),
  event_name: fc.constantFrom('level_up', 'level_up', 'app_install'),
  event_ts_ms: fc.oneof(
    fc.constantFrom(undefined, null),
    fc.integer({ min: -6 * day_ms, max: day_ms }).map((ms) => received_at_ms + ms),
  ),
  props: fc.constantFrom(undefined, {}, { identity_migration: true }),
}) as fc.Arbitrary<AcceptedEvent>

test('counts events by the key and the days that make two events one, against those that count', () => {
  fc.assert(
    fc.property(fc.array(event, { maxLength: 30 }), (events) => {
      const counted: string[] = []
      for (const { install_uuid, event_id, event_name, event_ts_ms, props } of events) {
        const install = isInstall(event_name, props as Record<string, unknown> | undefined)
        const day = new Date((event_ts_ms as number | null) ?? received_at_ms).toISOString().slice(0, 10)
        const { event_key, key_day } = eventKey({ install_uuid, event_id: event_id as string, day, install })
        const isDuplicate = duplicateDays(key_day).some((other) => counted.includes(`${event_key} ${other}`))
        if (!isDuplicate) counted.push(`${event_key} ${key_day}`)
      }
      expect(countOnce(events, received_at_ms)).toBe(counted.length)
    }),
    { numRuns: 2000 },
  )
})
