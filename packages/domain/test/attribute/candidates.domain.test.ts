import type { KeptClick } from '@tributary/contracts/attribution/decision'
import { day_ms, limits } from '@tributary/contracts/limits'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type CandidateKind, isCandidate, nearestClicks } from '../../src/attribute/candidates.ts'
import { decide } from '../../src/attribute/decide.ts'
import { candidatesOf } from '../../src/attribute/match-click.ts'
import { addressKey, clickAddressKeys, modelsFor } from '../../src/attribute/match-keys.ts'
import type { InstallClues } from '../../src/attribute/verdict.ts'

const hour_ms = 3600 * 1000
const at_ms = Date.UTC(2026, 0, 2)
const place = { topic: 'events.accepted.v1@log', partition: 0, offset: 0, index: 0 }
const looks = {
  ip: fc.constantFrom('192.0.2.1', '192.0.2.2'),
  os_major: fc.constantFrom(null, 13, 14),
  model: fc.constantFrom(null, 'A', 'B'),
  device_hashes: fc.uniqueArray(fc.constantFrom('d1', 'd2'), { maxLength: 2 }),
}
const addressKeys = ({ ip, os_major, model }: InstallClues): string[] =>
  ip === null || os_major === null ? [] : modelsFor(model).map((one) => addressKey(ip, os_major, one))
/** Each edge of a window, and its neighbours. */
const distance = fc
  .tuple(
    fc.constantFrom(0, hour_ms, day_ms, day_ms + hour_ms, 2 * day_ms, 30 * day_ms),
    fc.constantFrom(-1, 0, 1),
    fc.constantFrom(-1, 1),
  )
  .map(([length, step, direction]) => direction * length + step)

test('a click that came late is a candidate by a key exactly where the install would be decided with it', () => {
  const drawn = fc.record({
    click: fc.record({ distance, ...looks, filtered_reason: fc.constantFrom(null, 'bot' as const) }),
    install: fc.record({ names: fc.boolean(), ...looks }),
    windows: fc.record({ probabilistic: fc.boolean(), hours: fc.constantFrom(1, 24, 720) }),
  })
  fc.assert(
    fc.property(drawn, ({ click: { distance: back_ms, ...given }, install: { names, ...clues }, windows }) => {
      const click = { click_id: 'c', clicked_at_ms: at_ms - back_ms, ...given, place } as unknown as KeptClick
      const named_click = names ? { click_id: 'c', signature: 'valid' as const } : null
      const install: InstallClues = {
        ...{ ...clues, installed_at_ms: at_ms, received_at_ms: at_ms, place, referrer: null, named_click },
      }
      const { probabilistic, hours } = windows
      const settings = { probabilistic, probabilistic_window_hours: hours }
      const shared: [CandidateKind, boolean][] = [
        ['click', names],
        ['device', click.device_hashes.some((device) => install.device_hashes.includes(device))],
        ['address', clickAddressKeys(click).some((key) => addressKeys(install).includes(key))],
      ]
      const found = shared.some(([kind, has]) => has && isCandidate(kind, install, click, settings))
      const rules = { click_ms: 7 * day_ms, probabilistic_ms: hours * hour_ms, probabilistic }
      expect(found).toBe(candidatesOf(install, [click], rules).length === 1)
    }),
    { numRuns: 2000 },
  )
})

test('an alike click a moment too early for its window is shown, and why it lost', () => {
  const looks = { ip: '192.0.2.1', os_major: 14, model: null, device_hashes: [] }
  const install: InstallClues = {
    ...{ ...looks, installed_at_ms: at_ms, received_at_ms: at_ms, place, referrer: null, named_click: null },
  }
  const windows = { click_ms: 7 * day_ms, probabilistic_ms: hour_ms, probabilistic: true }
  const clickAt = (clicked_at_ms: number) =>
    ({
      click_id: 'c',
      partner: 'p',
      clicked_at_ms,
      lookback_hours: null,
      filtered_reason: null,
      place,
      ...looks,
    }) as unknown as KeptClick
  const shown = (clicked_at_ms: number) => {
    const clicks = candidatesOf(install, [clickAt(clicked_at_ms)], windows)
    return decide({
      install,
      clicks,
      expired: [],
      claims: new Map(),
      windows,
      isErasedClick: () => false,
      may_wait: true,
    }).candidates.map(({ reason }) => reason)
  }
  expect(shown(at_ms - hour_ms)).toEqual(['outside_window'])
  expect(shown(at_ms - hour_ms - day_ms)).toEqual(['outside_window'])
  expect(shown(at_ms - hour_ms - day_ms - 1)).toEqual([])
})

test('a click exactly a window before an install takes no place of those that may win', () => {
  const clicksAt = (clicked_at_ms: number) =>
    Array.from({ length: limits.candidates_lost_max + 1 }, (_, n) => {
      return { click_id: `c${n}`, clicked_at_ms, filtered_reason: null, lookback_hours: null }
    })
  const range = { at_ms, window_ms: day_ms, window_ms_max: day_ms }
  expect(nearestClicks(clicksAt(at_ms - day_ms), range)).toHaveLength(limits.candidates_lost_max)
  expect(nearestClicks(clicksAt(at_ms - day_ms + 1), range)).toHaveLength(limits.candidates_lost_max + 1)
})
