import { randomUUID } from 'node:crypto'
import type { Decision } from '@tributary/contracts/attribution/decision'
import { hour_ms } from '@tributary/contracts/limits'
import { isBehind } from '@tributary/domain/attribute/decisions'
import { byInstall } from '@tributary/domain/attribute/verdict'
import { openTestClickhouse, type TestClickhouse } from '@tributary/testing/engines/test-clickhouse'
import { roundsOf } from '@tributary/testing/rounds'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { installColumns, installLine } from '../../src/attribution/install-rows.ts'
import { readInstallsInOrder } from '../../src/rows/installs-in-order.ts'

let clickhouse: TestClickhouse
beforeAll(async () => {
  clickhouse = await openTestClickhouse()
})
afterAll(() => clickhouse.close())

const begin_ms = Date.UTC(2026, 2, 1)
const few = (max: number) => fc.integer({ min: 0, max })

/** A decision on one of few installs, each of which has several places and times. */
const made = fc.record({
  ...{ install: few(3), ms: few(2), place: few(2), log: fc.constantFrom('a', 'b'), offset: few(6), tried: few(2) },
})
type Made = typeof made extends fc.Arbitrary<infer T> ? T : never

const decisionOf = (app_id: string, { install, ms, place, log, offset, tried }: Made): Decision => ({
  ...{ v: 1, company_id: 'co_1', app_id, install_uuid: `i${install}`, received_at_ms: begin_ms },
  installed_at_ms: begin_ms + ms * hour_ms,
  place: {
    topic: `events.accepted.v1@${place === 2 ? 'b' : 'a'}`,
    partition: place % 2,
    offset: 9 - install,
    index: 0,
  },
  ...{ pending: true, verdict: null, clicked_at_ms: null, rule_version: 2, candidates: [], clicks: [] },
  windows: { click_hours: 168, probabilistic_hours: 24, reinstall_days: 90 },
  ...{ decided_at_ms: begin_ms, decided_at: { log: `installs.found.v1@${log}`, offset, try: tried } },
})

async function write(decisions: readonly Decision[], sign: 1 | -1 = 1) {
  const lines = decisions.map((decision, offset) => {
    const place = { topic: 'installs.attributed.v1@a', partition: 0, offset }
    return installLine({ decision, sign, place })
  })
  if (lines.length > 0)
    await clickhouse.insert({
      ...{ table: 'installs_v1', columns: installColumns, lines: lines.join('\n'), token: randomUUID() },
    })
}

/** The pages of a window, in hours; one statement reads few installs. */
async function read(app_id: string, since: number, until: number, page_installs: number): Promise<Decision[][]> {
  const window = { app_id, since_ms: begin_ms + since * hour_ms, until_ms: begin_ms + until * hour_ms }
  return Array.fromAsync(readInstallsInOrder(clickhouse, window, page_installs, new AbortController().signal, 2))
}

test('the newest decision on each install of a window comes once and in its place', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(made, {
        minLength: 4,
        maxLength: 20,
        selector: ({ install, log, offset, tried }) => [install, log, offset, tried].join(),
      }),
      few(3),
      few(3),
      fc.integer({ min: 1, max: 3 }),
      async (all, since, until, page_installs) => {
        const [app_id, other_app_id] = [randomUUID(), randomUUID()]
        const decisions = all.map((one) => decisionOf(app_id, one))
        await write(decisions)
        // The second try of an insert, what a later verdict cancels, and another app.
        await write(decisions.slice(0, 3))
        await write(decisions.slice(0, 3), -1)
        await write(all.map((one) => decisionOf(other_app_id, { ...one, ms: 2 - one.ms })))
        const newest = [...Map.groupBy(decisions, ({ install_uuid }) => install_uuid).values()].map((of) =>
          of.reduce((held, next) => (isBehind(next.decided_at, held.decided_at) ? held : next)),
        )
        const expected = newest
          .filter(({ installed_at_ms: ms }) => ms >= begin_ms + since * hour_ms && ms < begin_ms + until * hour_ms)
          .toSorted(byInstall)
        const pages = await read(app_id, since, until, page_installs)
        expect(pages.flat()).toEqual(expected)
        expect(pages.every(({ length }) => length > 0 && length <= page_installs)).toBe(true)
      },
    ),
    { numRuns: roundsOf(25) },
  )
})
