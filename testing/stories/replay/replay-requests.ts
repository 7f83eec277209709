import fc from 'fast-check'
import type { Tenant, World } from './replay-world.ts'

const day_ms = 24 * 3600 * 1000
export const start_ms = Date.UTC(2026, 5, 1, 20)

/** An event out of pools so small that ids meet: in a request, between requests and surfaces, on neighbouring days. */
const event = fc
  .record({
    event_id: fc.constantFrom('1', '2', '3', 'ä', '~%/ü'.slice(0, 3), '*'.repeat(128), undefined),
    event_name: fc.constantFrom('level_up', 'purchase', 'app_install'),
    install_uuid: fc.constantFrom('i-1', 'i-2', 'i_3', ''),
    day: fc.integer({ min: -2, max: 2 }),
    revenue: fc.constantFrom(undefined, 4.99, 1e10),
    user_id: fc.constantFrom(undefined, 'u-1', '\ud800'),
    props: fc.constantFrom(undefined, { n: 1 }, { identity_migration: true }),
    device: fc.constantFrom(undefined, { ip: '193.99.144.80' }, { ip: '9.9.9.9' }, { ip: '10.0.0.1' }),
    extra: fc.jsonValue({ maxDepth: 2 }),
  })
  .map(({ day, ...fields }) => ({
    ...fields,
    ...(fields.revenue === undefined ? {} : { transaction_id: `t-${fields.install_uuid}` }),
    event_ts_ms: start_ms + day * day_ms,
  }))

export const requests = fc.array(
  fc.record({
    route: fc.constantFrom('sdk', 'gzip', 'single', 'bulk'),
    tenant: fc.integer({ min: 0, max: 1 }),
    // Which of two requests of one millisecond was first, the audit store can't tell.
    pass_ms: fc.constantFrom(1, 7, 1000, 5 * 3600 * 1000),
    events: fc.array(event, { minLength: 1, maxLength: 4 }),
  }),
  { minLength: 15, maxLength: 25 },
)
type Request = (typeof requests extends fc.Arbitrary<infer T> ? T : never)[number]

/** Sends them one after the other, each for one of the tenants, and waits until all is written. */
export async function sendAll(
  world: World,
  tenants: readonly [Tenant, Tenant],
  many: readonly Request[],
): Promise<void> {
  world.clock.now_ms = Math.max(world.clock.now_ms, start_ms)
  for (const { route, tenant, pass_ms, events } of many) {
    const of = tenants[tenant as 0 | 1]
    world.clock.now_ms += pass_ms
    const sent_at_ms = world.clock.now_ms - 500
    if (route === 'single') await world.single(of, events[0]!)
    else if (route === 'bulk') await world.bulk(of, events)
    else await world.sdk(of, JSON.stringify({ events, sent_at_ms }), route === 'gzip')
  }
  await world.untilWritten()
}
