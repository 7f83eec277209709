import { hour_ms, limits } from '@tributary/contracts/limits'
import { describe, expect, it } from 'vitest'
import { panelOrigin } from '../../src/people/panel-origin.ts'
import { hasEnded, waitAfter } from '../../src/people/session-rules.ts'

const began_at_ms = Date.UTC(2026, 5, 1)
const session = { complete: true, began_at_ms, seen_at_ms: began_at_ms, proven_at_ms: began_at_ms }

describe('a session', () => {
  it.each<[what: string, change: object, after_ms: number, ended: boolean]>([
    ['lasts while it is used', { seen_at_ms: began_at_ms + 40 * hour_ms }, 51 * hour_ms, false],
    ['ends after 12 hours without a request', {}, 12 * hour_ms, true],
    ['lasts until then', {}, 12 * hour_ms - 1, false],
    ['ends after 30 days, however much it is used', { seen_at_ms: began_at_ms + 720 * hour_ms }, 720 * hour_ms, true],
    ['waits minutes for its second factor', { complete: false }, limits.session_pending_ms_max, true],
    ['waits until then', { complete: false }, limits.session_pending_ms_max - 1, false],
  ])('%s', (_what, change, after_ms, ended) => {
    expect(hasEnded({ ...session, ...change }, began_at_ms + after_ms)).toBe(ended)
  })
})

it('slows guesses twice as long each time, and never longer than a quarter of an hour', () => {
  const waits = [0, 4, 5, 6, 7, 14, 15, 10_000].map((failures) => waitAfter(failures) / 1000)
  expect(waits).toEqual([0, 0, 1, 2, 4, 512, 900, 900])
})

describe('cookies of an address', () => {
  it.each<[scheme: 'http' | 'https', host: string, name: string | undefined]>([
    ['https', 'panel.example.com', '__Host-tributary'],
    ['https', '127.0.0.1:8443', '__Host-tributary'],
    ['http', '127.0.0.1:8080', 'tributary_8080'],
    ['http', 'localhost', 'tributary_80'],
    ['http', '[::1]:8080', 'tributary_8080'],
    ['http', 'panel.example.com', undefined],
    ['http', '127.0.0.1.example.com:8080', undefined],
    ['http', '10.0.0.7', undefined],
  ])('%s://%s: %s', (scheme, host, name) => {
    expect(panelOrigin(scheme, host)?.cookies?.session).toBe(name)
  })

  it('are Secure over https alone', () => {
    expect(panelOrigin('https', 'a.example')?.cookies?.secure).toBe(true)
    expect(panelOrigin('http', 'localhost:1')?.cookies?.secure).toBe(false)
  })

  it('belong to no host that is none', () => expect(panelOrigin('http', 'a b')).toBeNull())
})
