import { randomBytes } from 'node:crypto'
import type { Decision } from '@tributary/contracts/attribution/decision'
import type { Verdict } from '@tributary/contracts/attribution/verdict'
import { consumers } from '@tributary/contracts/consumers'
import { eventWriter } from '@tributary/event-writer/event-writer'
import { installWriter } from '@tributary/install-writer/install-writer'
import { eventForwarder } from '@tributary/postback-forwarder/event-forwarder'
import { verdictForwarder } from '@tributary/postback-forwarder/verdict-forwarder'
import type { ConsumerDefinition } from '@tributary/service-kit/consumer/define-consumer'
import { runConsumer } from '@tributary/service-kit/consumer/run-consumer'
import { endErased, removeErased } from '@tributary/tables/partners/erased-postbacks'
import { removePartner, setPartner } from '@tributary/tenancy/companies/partner-settings'
import { createApp, createCompany } from '@tributary/tenancy/companies/tenants'
import { openMasterKeys } from '@tributary/tenancy/secrets/master-keys'
import { openTestClickhouse, type TestClickhouse } from '@tributary/testing/engines/test-clickhouse'
import { openTestPostgres, type TestPostgres } from '@tributary/testing/engines/test-postgres'
import { roundsOf } from '@tributary/testing/rounds'
import { type MemoryBroker, memoryBroker } from '@tributary/testing/twins/memory-broker'
import { type MemoryTombstones, memoryTombstones } from '@tributary/testing/twins/memory-tombstones'
import fc from 'fast-check'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'

let clickhouse: TestClickhouse
let postgres: TestPostgres
beforeAll(async () => {
  ;[clickhouse, postgres] = await Promise.all([openTestClickhouse(), openTestPostgres()])
})
afterAll(() => Promise.all([clickhouse.close(), postgres.close()]))

const masterKeys = openMasterKeys([{ id: 'test', key: Buffer.alloc(32, 1) }])
const t0 = Date.UTC(2026, 0, 2, 12)
const patient = { timeout: 180_000, interval: 2 }

const says = ['organic', 'p', 'q', 'p flagged', 'p reinstall', 'p imported', 'pending'] as const
const install = fc.constantFrom('i-1', 'i-1', 'i-2')
const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('event' as const),
      install,
      id: fc.nat(4),
      name: fc.constantFrom('purchase', 'level_up', 'migration'),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('decide' as const),
      install,
      says: fc.constantFrom(...says, 'p' as const, 'q' as const, 'q' as const),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('set' as const),
      partner: fc.constantFrom('p', 'q'),
      events: fc.constantFrom<string[] | null>(['install'], ['install', 'purchase'], ['level_up'], null),
      flagged: fc.constantFrom('skip' as const, 'send' as const),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('erase' as const), install }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('run' as const), kills: fc.array(fc.nat(12), { maxLength: 3 }) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('replay' as const) }) },
)
/** Most histories would set nobody before something happens. */
const first = ['p', 'q'].map((partner) => ({
  ...{ do: 'set' as const, partner: partner as 'p' | 'q', flagged: 'skip' as const },
  events: ['install', 'purchase', 'level_up'] as string[] | null,
}))
const history = fc.array(step, { minLength: 12, maxLength: 25 })

function verdictOf(word: (typeof says)[number]): Verdict | null {
  if (word === 'pending') return null
  const [partner = '', kind] = word.split(' ')
  const attribution_type = partner === 'organic' ? 'organic' : kind === 'imported' ? 'imported' : 'click_id'
  return {
    ...{ partner, attribution_type, campaign: null, link_id: null, click_id: `click-${partner}`, ext_click_id: 'ext' },
    ...{ sub1: null, sub2: null, sub3: null, sub4: null, sub5: null, reinstall: kind === 'reinstall' },
    fraud_flags: kind === 'flagged' ? ['fast_install'] : [],
  }
}

interface Settings {
  partner: string
  at: number
  events: string[] | null
  flagged: 'skip' | 'send'
}
interface Life {
  install: string
  decided: { at: number; says: (typeof says)[number] }[]
  events: { at: number; id: number; name: string }[]
}

/** What is owed for a life of an install, by loops over what happened: `partner install` or `partner id`. */
function owedByLoops({ decided, events }: Life, settings: readonly Settings[]): string[] {
  const verdicts = decided.filter((one) => one.says !== 'pending')
  const at = (partner: string, time: number) =>
    settings.filter((one) => one.partner === partner && one.at <= time).at(-1)
  const sends = (word: string) => /^[pq]( flagged)?$/.test(word)
  const may = (n: number, time: number, name: string) => {
    const { says: word } = verdicts[n]!
    const [partner = '', kind] = word.split(' ')
    // Since when the partner has had the install.
    let since = verdicts[n]!.at
    for (let m = n - 1; m >= 0 && verdicts[m]!.says.split(' ')[0] === partner && sends(verdicts[m]!.says); m -= 1)
      since = verdicts[m]!.at
    const now = at(partner, Math.max(since, time))
    if (!sends(word) || !now?.events?.includes(name) || (kind === 'flagged' && now.flagged === 'skip')) return []
    return [partner]
  }
  const owed: string[] = []
  if (verdicts.length > 0 && decided.at(-1)!.says !== 'pending')
    owed.push(...may(verdicts.length - 1, 0, 'install').map((partner) => `${partner} install`))
  const seen = new Set<number>()
  for (const event of events) {
    if (seen.has(event.id)) continue
    seen.add(event.id)
    if (event.name === 'migration' || verdicts.length === 0) continue
    let owner = 0
    for (let n = 0; n < verdicts.length; n += 1) if (verdicts[n]!.at <= event.at) owner = n
    owed.push(...may(owner, event.at, event.name).map((partner) => `${partner} ${event.id}`))
  }
  return owed
}

interface World {
  broker: MemoryBroker
  erased: MemoryTombstones
  app_id: string
  company_id: string
  now(): number
}

/** Runs all consumers until everything is read; the forwarders are killed at these steps. */
async function runToEnd({ broker, erased, now }: World, kills: readonly number[]) {
  const deps = { broker, clickhouse, postgres: postgres.pool, erased, now }
  let steps = 0
  const crash = () => {
    steps += 1
    if (kills.includes(steps)) throw new Error('killed')
  }
  const run = <T>(consumer: ConsumerDefinition<T>, more: { crash?: () => void } = {}) =>
    runConsumer({
      ...{ broker, consumer, now, logger: pino({ level: 'silent' }), registry: new Registry(), ...more },
      ...{ pauses: { first_ms: 1, most_ms: 2 }, fetch: { bytes_min: 1, bytes_max: 1024 * 1024, wait_ms_max: 1 } },
    })
  const running = [
    await run(verdictForwarder(deps), { crash }),
    await run(eventForwarder(deps), { crash }),
    await run(eventWriter({ clickhouse, erased })),
    await run(installWriter({ clickhouse, erased, now })),
  ]
  const groups = [consumers.eventWriter, consumers.installWriter, consumers.verdictForwarder, consumers.eventForwarder]
  await vi.waitFor(() => {
    for (const { name, topic } of groups) expect(broker.isDone(name, topic.name, 0)).toBe(true)
  }, patient)
  for (const one of running) await one.close()
}

test('whatever comes when, each key has one content, a final partner is owed all that is its own, and nobody else is owed anything', async () => {
  await fc.assert(
    fc.asyncProperty(history, async (steps) => {
      let now_ms = t0
      const now = () => now_ms
      const request = () => ({ actor: 'test', request_id: 'r', now_ms })
      const { company_id } = await createCompany(postgres.pool, { name: 'A', plan: 'free' }, request())
      const app = { company_id, name: 'G', platform: 'android' as const }
      const { app_id } = await createApp(postgres.pool, masterKeys, app, request())
      const world: World = { broker: memoryBroker(1, now), erased: memoryTombstones(), app_id, company_id, now }
      world.broker.chunk_records_max = 3
      const settings: Settings[] = []
      const lives = new Map<string, Life>(
        ['i-1', 'i-2'].map((name) => [name, { install: name, decided: [], events: [] }]),
      )
      /** All that somebody may ever have been owed in the present lives, and contents by key. */
      const ever = new Set<string>()
      const contents = new Map<string, string>()
      let offset = 0
      const began = new Map<string, number>()

      const look = async (kills: readonly number[] = []) => {
        await runToEnd(world, kills)
        for (const life of lives.values())
          for (const one of owedByLoops(life, settings)) ever.add(`${life.install} ${one}`)
        const { rows } = await postgres.pool.query(
          'SELECT install_uuid, partner, event_key, content, idempotency_key FROM due_postbacks WHERE app_id = $1',
          [app_id],
        )
        const found = new Set<string>()
        for (const { install_uuid, partner, event_key, content, idempotency_key } of rows) {
          const id = event_key === 'install' ? 'install' : String(JSON.parse(content).revenue)
          const name = `${install_uuid} ${partner} ${id}`
          found.add(name)
          expect(contents.get(idempotency_key) ?? content).toBe(content)
          contents.set(idempotency_key, content)
          expect(JSON.parse(content)).toMatchObject({ install_uuid, click_id: `click-${partner}` })
        }
        expect(found.size).toBe(rows.length)
        for (const life of lives.values())
          for (const one of owedByLoops(life, settings)) expect(found).toContain(`${life.install} ${one}`)
        for (const name of found) expect(ever).toContain(name)
      }

      for (const one of [...first, ...steps]) {
        now_ms += 1000
        if (one.do === 'event') {
          const { install: install_uuid, id, name } = one
          lives.get(install_uuid)!.events.push({ at: now_ms, id, name })
          const props = name === 'migration' ? { identity_migration: true } : {}
          const event = {
            event_id: `e-${id}`,
            event_name: name === 'migration' ? 'purchase' : name,
            event_ts_ms: now_ms,
            revenue: id,
            props,
          }
          const envelope = {
            ...{ v: 1, company_id, app_id, platform: 'android', source: 's2s', install_uuid, received_at_ms: now_ms },
            ...{ ip: '', user_agent: '', sdk: '', sdk_platform: '', audit_key: '', events: [event] },
          }
          const value = Buffer.from(JSON.stringify(envelope))
          await world.broker.publish([{ topic: consumers.eventWriter.topic.name, partition: 0, key: null, value }])
        } else if (one.do === 'decide') {
          lives.get(one.install)!.decided.push({ at: now_ms, says: one.says })
          const value = Buffer.from(
            JSON.stringify(decisionOf(world, one, { now_ms, offset: offset++, began: began.get(one.install) ?? t0 })),
          )
          await world.broker.publish([{ topic: consumers.installWriter.topic.name, partition: 0, key: null, value }])
        } else if (one.do === 'set') {
          const { partner, events, flagged } = one
          const known = settings.filter((other) => other.partner === partner).at(-1)
          if (events !== null) {
            const given = { app_id, partner, postback_url: 'https://e.com/', method: 'GET' as const, events, flagged }
            await setPartner({ pool: postgres.pool, masterKeys }, given, request())
          } else if (known?.events) await removePartner(postgres.pool, { app_id, partner }, request())
          else continue
          settings.push({ partner, events, flagged, at: now_ms })
        } else if (one.do === 'erase') {
          // As the eraser: no consumer is at work with fewer tombstones, then the list loses the install.
          await look()
          const { install: install_uuid } = one
          world.erased.erase(app_id, install_uuid, now_ms)
          const installs = [{ install_uuid, mark_ms: now_ms }]
          expect(await endErased(postgres.pool, app_id, installs)).toBe(false)
          await removeErased(postgres.pool, app_id, installs)
          lives.set(install_uuid, { install: install_uuid, decided: [], events: [] })
          for (const name of ever) if (name.startsWith(`${install_uuid} `)) ever.delete(name)
          now_ms += 1000
          began.set(install_uuid, now_ms)
        } else if (one.do === 'run') await look(one.kills)
        else
          for (const { name, topic } of [consumers.verdictForwarder, consumers.eventForwarder])
            world.broker.setCommitted(name, topic.name, 0, null)
      }
      await look([2, 5, 9])
    }),
    { numRuns: roundsOf(6), endOnFailure: true },
  )
})

function decisionOf(
  { app_id, company_id }: World,
  one: { install: string; says: (typeof says)[number] },
  at: { now_ms: number; offset: number; began: number },
): Decision {
  const verdict = verdictOf(one.says)
  return {
    ...{
      v: 1,
      company_id,
      app_id,
      install_uuid: one.install,
      installed_at_ms: t0 - 3_600_000,
      received_at_ms: at.began,
    },
    place: { topic: 'events.accepted.v1@a', partition: 0, offset: at.began, index: 0 },
    ...{ pending: verdict === null, verdict, clicked_at_ms: null, rule_version: 1, candidates: [], clicks: [] },
    windows: { click_hours: 168, probabilistic_hours: 24, reinstall_days: 90 },
    ...{ decided_at_ms: at.now_ms, decided_at: { log: `installs.found.v1@${randomName}`, offset: at.offset, try: 1 } },
  }
}
const randomName = randomBytes(4).toString('hex')
