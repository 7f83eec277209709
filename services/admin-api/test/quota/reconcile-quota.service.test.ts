import type { PartitionOffsets } from '@tributary/broker/broker'
import { limits } from '@tributary/contracts/limits'
import { quotaKey } from '@tributary/tenancy/quota/quota-key'
import { memoryKeyValue } from '@tributary/testing/twins/memory-key-value'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type ReconcileDeps, reconcileQuota } from '../../src/quota/reconcile-quota.ts'

const november = Date.UTC(2026, 10, 21, 12)
const key = quotaKey('co_1', november)

/** One company with its counter, a log and tables that are numbers, and a clock that runs while a round waits. */
function world() {
  let now_ms = november
  const keyValue = memoryKeyValue(() => now_ms)
  /** Events that are reserved, on the log, and in the tables; a test moves them while the round waits. */
  const state = { published: 0, written: 0, counted: 0 }
  let whileWaiting: (waited: number) => Promise<void> = async () => {}
  let waits = 0
  const deps: ReconcileDeps = {
    pool: { query: async () => ({ rows: [{ app_id: 'app_1', company_id: 'co_1' }] }) } as never,
    clickhouse: { query: async () => [{ app_id: 'app_1', events: state.counted }] as never },
    broker: {
      groupOffsets: async () => {
        const place = { partition: 0, committed: state.written, metadata: null, earliest: 0, end: state.published }
        return [{ ...place, oldest_unread_ms: null } satisfies PartitionOffsets]
      },
    },
    keyValue,
    now: () => now_ms,
    async pause(ms) {
      now_ms += ms
      await whileWaiting(waits++)
    },
  }
  return {
    ...{ keyValue, state },
    used: async () => keyValue.totals.get(key) ?? 0,
    reserve: (n: number) => keyValue.addCapped(key, n, null, 1e9),
    /** Writes `n` records of the log, of which `fresh` are no duplicates. */
    write(n: number, fresh = n) {
      state.written += n
      state.counted += fresh
    },
    waited_ms: () => now_ms - november,
    setClock: (ms: number) => {
      now_ms = ms
    },
    async round(then: typeof whileWaiting = async () => {}, signal = new AbortController().signal) {
      whileWaiting = then
      waits = 0
      await reconcileQuota(deps, signal)
    },
  }
}

test('replays, duplicates and what a crash stranded come back in one round of less than half a minute', async () => {
  const { reserve, state, write, round, used, waited_ms } = world()
  await reserve(1000) // 600 events, of which 400 were sent again, and 300 that a crash stranded
  state.published = 700
  write(700, 300)
  await round()
  expect(await used()).toBe(300)
  expect(waited_ms()).toBeLessThan(30_000)
})

test('what slipped through is added at once, whatever the consumers have still to read', async () => {
  const { state, round, used } = world()
  Object.assign(state, { published: 50, written: 40, counted: 40 })
  const stop = new AbortController()
  await round(async () => stop.abort(), stop.signal)
  expect(await used()).toBe(40)
})

test.each([60_000, 3_600_000, 86_400_000])(
  'a round whose clock goes back by %i ms ends, and the next one is exact',
  async (jump_ms) => {
    const { reserve, state, write, round, used, setClock, waited_ms } = world()
    await reserve(10)
    state.published = 10
    write(10, 7)
    await round(async (waited) => {
      if (waited === 0) setClock(november - jump_ms)
    })
    expect(waited_ms()).toBeLessThan(0)
    await round()
    expect(await used()).toBe(7)
  },
)

test('nothing is taken off before the consumers have caught up', async () => {
  const { reserve, state, write, round, used } = world()
  await reserve(10)
  state.published = 10
  const seen: number[] = []
  await round(async (waited) => {
    seen.push(await used())
    if (waited === 20) write(10, 9)
  })
  expect(seen).toHaveLength(21)
  expect(new Set(seen)).toEqual(new Set([10]))
  expect(await used()).toBe(9)
})

test('a reservation that is made while a round runs stays, wherever its events are by then', async () => {
  const { reserve, state, write, round, used } = world()
  await reserve(5) // stranded
  await round(async (waited) => {
    if (waited === 0) await reserve(7) // on the way
    if (waited === 1) await reserve(3)
    if (waited === 2) {
      state.published += 3
      write(3)
    }
  })
  // Events that were counted meanwhile hide 3 of the 5 stranded ones.
  expect(await used()).toBe(13)
  state.published += 7
  write(7)
  await round()
  expect(await used()).toBe(10)
})

test('a round that another process overtakes takes nothing off', async () => {
  const { reserve, round, used, keyValue } = world()
  await reserve(5)
  await round(async (waited) => {
    if (waited === 0) await keyValue.mark(key, 'of another process')
  })
  expect(await used()).toBe(5)
})

test('whatever happens while rounds run, no live reservation is given back, and at rest the counter is exact', async () => {
  const step = fc.oneof(
    fc.record({ what: fc.constantFrom('reserve' as const), n: fc.integer({ min: 1, max: 9 }) }),
    fc.record({ what: fc.constantFrom('publish', 'fail', 'crash', 'write', 'replay', 'slip'), n: fc.nat(20) }),
  )
  const waits = limits.reservation_ms_max / 5000
  await fc.assert(
    fc.asyncProperty(fc.array(fc.array(step, { maxLength: 4 }), { maxLength: 30 }), async (steps) => {
      const { reserve, state, write, round, used } = world()
      /** Requests that have reserved, with the wait in which they did; one ends before the round's patience. */
      let open: { n: number; since: number }[] = []
      let unwritten: number[] = []
      let at = 0
      const publish = (n: number, fresh: number) => {
        state.published += n
        unwritten.push(fresh)
        for (let more = 1; more < n; more += 1) unwritten.push(0)
      }
      const act = async ({ what, n }: { what: string; n: number }) => {
        if (what === 'reserve') {
          await reserve(n)
          open.push({ n, since: at })
        } else if (what === 'write') {
          for (const fresh of unwritten.splice(0, n)) write(1, fresh)
        } else if (what === 'slip') publish(1, n)
        else if (open.length > 0) {
          const [request] = open.splice(n % open.length, 1)
          if (what === 'publish') publish(1, request!.n)
          else if (what === 'replay') publish(1, 0)
          else if (what === 'fail') await reserve(-request!.n)
        }
      }
      const live = () => open.reduce((sum, { n }) => sum + n, 0) + unwritten.reduce((sum, n) => sum + n, 0)
      const slipped = steps.flat().some(({ what }) => what === 'slip')
      const pass = async () => {
        for (const one of steps[at] ?? []) await act(one)
        at += 1
        for (const { n } of open.filter(({ since }) => at - since >= waits)) publish(1, n)
        open = open.filter(({ since }) => at - since < waits)
        if (at > steps.length) for (const fresh of unwritten.splice(0)) write(1, fresh)
        if (!slipped) expect(await used()).toBeGreaterThanOrEqual(live() + state.counted)
      }
      while (at < steps.length + 2 * waits) await round(pass)
      unwritten = []
      await round()
      expect(await used()).toBe(state.counted)
    }),
    { numRuns: 300 },
  )
})
