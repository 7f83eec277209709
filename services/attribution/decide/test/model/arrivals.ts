import type { KeptClick } from '@tributary/contracts/attribution/decision'
import type { Fact } from '@tributary/contracts/attribution/found'
import fc from 'fast-check'
import { alias, click, clickId, day_ms, hour_ms, install, other_app_id, t0 } from './story.ts'
import { bruteForce, type Mirror, world } from './world.ts'

const some = <T>(arb: fc.Arbitrary<T>, freq = 2) => fc.option(arb, { freq })
const address = fc.constantFrom('192.0.2.1', '192.0.2.2', '198.51.100.9')
/** Copies of a click, a minute apart: sometimes more than are looked at after an install, or before it. */
const crowds = [...Array.from({ length: 36 }, () => 1), 3, 7, 25, 55]
const clicks = fc
  .array(
    fc.record({
      clicked_at_ms: fc.integer({ min: 0, max: 36 }).map((n) => t0 + n * hour_ms),
      partner: fc.constantFrom('p', 'q'),
      ip: address,
      os_major: some(fc.constantFrom(14, 15)),
      device_hashes: fc.subarray(['d', 'e']),
      filtered_reason: fc.constantFrom(null, null, null, null, 'bot', 'honeypot'),
      lookback_hours: fc.constantFrom(null, null, 3),
      model: fc.constantFrom(null, null, 'A', 'B'),
      crowd: fc.constantFrom(...crowds),
    }),
    { maxLength: 8 },
  )
  .map((all) => {
    const each = all.flatMap(({ crowd, clicked_at_ms, ...given }) =>
      Array.from({ length: crowd }, (_, n) => ({ ...given, clicked_at_ms: clicked_at_ms + n * 60_000 })),
    )
    return each.map((given, n) => click(n, given as Partial<KeptClick>))
  })

const tokenOf = (known: readonly KeptClick[]) =>
  some(
    fc.record({
      click_id: fc.constantFrom(clickId(t0, 999), ...known.map(({ click_id }) => click_id)),
      signature: fc.constantFrom('valid' as const, 'valid' as const, 'absent' as const, 'forged' as const),
    }),
    1,
  )

/** Clicks, facts of installs, and how they come. */
export const story = clicks.chain((known) =>
  fc.record({
    clicks: fc.constant(known),
    facts: fc
      .array(
        fc.record({
          uuid: fc.integer({ min: 0, max: 5 }),
          is_alias: fc.constantFrom(false, false, false, true),
          event_name: fc.constantFrom('app_install' as const, 'app_first_open' as const),
          installed_at_ms: fc.integer({ min: 0, max: 45 }).map((n) => t0 + n * hour_ms),
          delay_ms: fc.constantFrom(0, 0, hour_ms, 5 * hour_ms),
          partition: fc.integer({ min: 0, max: 1 }),
          is_sdk: fc.constantFrom(true, true, false),
          ip: some(address, 3),
          os_major: some(fc.constantFrom(14, 15), 3),
          model: fc.constantFrom(null, null, 'A', 'B'),
          device_hashes: fc.subarray(['d', 'e']),
          user_id: some(fc.constantFrom('u', 'v')),
          referrer: tokenOf(known),
          named_click: tokenOf(known),
        }),
        { maxLength: 10 },
      )
      .map((all) =>
        all.map((given, n): Fact => {
          const { uuid, is_alias, delay_ms, partition, ...rest } = given
          const received_at_ms = rest.installed_at_ms + delay_ms
          // An install has one partition.
          const place = { topic: `events.accepted.v1@${uuid % 2}`, partition: uuid % 2, offset: n, index: 0 }
          if (is_alias) return { ...alias(n, `i${uuid}`, rest.user_id ?? 'u', received_at_ms), place }
          return install(n, { ...rest, install_uuid: `i${uuid}`, received_at_ms, place })
        }),
      ),
    picks: fc.infiniteStream(fc.nat(1000)),
  }),
)

/** Two stories of two apps, whose facts meet in batches. One has few installs, or none. */
export const storyOfTwo = fc.tuple(story, story).map(([one, two]): Story => {
  const facts = two.facts.slice(0, 3).map((fact) => ({
    ...fact,
    app_id: other_app_id,
    install_uuid: `o${fact.install_uuid}`,
    place: { ...fact.place, offset: fact.place.offset + 1000 },
  }))
  const clicks = two.clicks.map((click) => ({ ...click, app_id: other_app_id, company_id: 'co-2' }))
  return { ...one, clicks: [...one.clicks, ...clicks], facts: [...one.facts, ...facts] }
})

/** A story of aliases: a few installs that tell of several users, and nothing else. */
export const aliasStory = fc.record({
  clicks: fc.constant([]),
  facts: fc
    .array(
      fc.record({
        uuid: fc.integer({ min: 0, max: 3 }),
        is_alias: fc.boolean(),
        at_ms: fc.integer({ min: 0, max: 45 }).map((n) => t0 + n * hour_ms),
        user_id: fc.constantFrom('u', 'v', 'w'),
      }),
      { maxLength: 14 },
    )
    .map((all) =>
      all.map(({ uuid, is_alias, at_ms, user_id }, n): Fact => {
        const place = { topic: `events.accepted.v1@${uuid % 2}`, partition: uuid % 2, offset: n, index: 0 }
        if (is_alias) return { ...alias(n, `i${uuid}`, user_id, at_ms), place }
        const at = { installed_at_ms: at_ms, received_at_ms: at_ms, place }
        // One install names its user: the others are found by aliases alone.
        return install(n, { ...at, install_uuid: `i${uuid}`, user_id: uuid === 0 ? user_id : null, ip: null })
      }),
    ),
  picks: fc.infiniteStream(fc.nat(1000)),
})

/** Limits with which a story has crowds; like the real ones, clicks are shown after an install for less than the window. */
export const fewMakeACrowd = { crowd_facts: 2, crowd_window_ms: 30 * hour_ms, key_facts_max: 4 }

export interface Story {
  clicks: readonly KeptClick[]
  facts: readonly Fact[]
  picks: Iterator<number>
}

type Verdicts = ReturnType<typeof bruteForce>

/** Batches after which a story has lost its way. */
const batches_max = 2000

/**
 * Tells a story: what comes first, twice and late, where batches are cut and where they are killed is picked. Returns the
 * verdicts in the end, and those that the whole gives.
 */
export async function tell({ clicks, facts, picks }: Story, mirror?: Mirror) {
  const pick = (below: number) => (picks.next().value as number) % below
  const clock = { ms: t0 + 46 * hour_ms }
  const loop = world(clock, mirror, pick)
  const toFind = [...facts, ...facts.filter((_, n) => n % 3 === 0)]
  const toClick = [...clicks]
  const oneOf = <T>(from: T[]) => from.splice(pick(from.length), 1)[0]!
  const writeOne = async () => {
    if (toClick.length > 0 && pick(2) === 0) await loop.writeClick(oneOf(toClick))
    if (pick(3) === 0) await loop.wakeUp()
  }
  let batches = 0
  const handleOne = async () => {
    batches += 1
    if (batches > batches_max) throw new Error('re-decisions do not come to an end')
    const kills = Array.from({ length: pick(3) }, () => pick(16))
    await loop.handle(1 + pick(6), kills, writeOne)
  }
  while (toFind.length > 0 || toClick.length > 0 || loop.hasWork() || loop.asleep.length > 0) {
    const what = pick(4)
    if (what === 0 && toFind.length > 0) loop.found.push(oneOf(toFind))
    else if (what <= 1) await writeOne()
    else if (loop.hasWork()) await handleOne()
  }
  clock.ms += 2 * day_ms
  await loop.decidePending()
  while (loop.hasWork() || loop.asleep.length > 0) {
    await loop.wakeUp()
    if (loop.hasWork()) await handleOne()
  }
  const expected = [...new Set(facts.map(({ app_id }) => app_id))].map((app_id) => {
    const of = <Row extends { app_id: string }>(rows: readonly Row[]) => rows.filter((row) => row.app_id === app_id)
    return bruteForce(of(facts), of(clicks), clock.ms)
  })
  return { loop, clock, verdicts: await loop.verdicts(), expected: Object.assign({}, ...expected) as Verdicts }
}
