import { randomUUID } from 'node:crypto'
import type { AliasFact, Fact, InstallEvent, InstallFact } from '@tributary/contracts/attribution/found'
import { limits } from '@tributary/contracts/limits'
import { installOf, otherOf } from '@tributary/domain/attribute/install-of'
import { matchKey } from '@tributary/domain/attribute/match-keys'
import { openTestClickhouse, type TestClickhouse } from '@tributary/testing/engines/test-clickhouse'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { factColumns, factLine, findDecidingFacts, findWithOthers } from '../../src/attribution/facts.ts'

let clickhouse: TestClickhouse
beforeAll(async () => {
  clickhouse = await openTestClickhouse()
})
afterAll(() => clickhouse.close())

/** Far enough from now that tables keep its facts. */
const t0 = Date.UTC(2099, 5, 1)
const app_id = randomUUID()
const ofInstall = (install_uuid: string, n: number) => ({
  ...{ v: 1 as const, company_id: 'co_1', app_id, install_uuid, received_at_ms: t0 + n },
  place: { topic: 'events.accepted.v1@a', partition: 0, offset: n, index: 0 },
})

/** The `n`th event of the log. */
const install = (install_uuid: string, n: number, event_name: InstallEvent = 'app_install'): InstallFact => ({
  ...{ kind: 'install', ...ofInstall(install_uuid, n), event_name, installed_at_ms: t0 + n, is_sdk: true },
  ...{ platform: 'android', user_id: null, ip: null, os_major: null, model: null, device_hashes: [], referrer: null },
  ...{ named_click: null, referrer_click_server_s: null, install_begin_server_s: null },
})
const alias = (install_uuid: string, n: number, user_id: string): AliasFact => ({
  ...{ kind: 'alias', ...ofInstall(install_uuid, n), user_id },
})
const store = (facts: readonly Fact[]) =>
  clickhouse.insert({
    ...{ table: 'install_facts_v1', columns: factColumns, token: randomUUID() },
    lines: facts.map(factLine).join('\n'),
  })
const numbers = (from: number, count: number) => Array.from({ length: count }, (_, n) => from + n)

test('of an install with very many facts those that decide are read, and few others', async () => {
  const facts: Fact[] = [
    ...numbers(0, 300).map((n) => install('i', n, 'app_first_open')),
    ...numbers(300, 300).map((n) => install('i', n)),
    ...numbers(600, 300).map((n) => alias('i', n, 'same user')),
    ...numbers(900, 2 * limits.install_aliases_max).map((n) => alias('i', n, `user ${n}`)),
  ]
  await store(facts.toReversed())
  await store([install('other', 9000)])
  const found = await findDecidingFacts(clickhouse, app_id, ['i', 'other', 'nobody'])
  expect([...found.keys()].toSorted()).toEqual(['i', 'other'])
  const read = found.get('i')!
  expect(installOf(read)).toEqual(installOf(facts))
  const users = (of: readonly Fact[]) => new Set(otherOf(of)!.aliases.map(({ user_id }) => user_id))
  const first = ['same user', ...numbers(900, limits.install_aliases_max - 1).map((n) => `user ${n}`)]
  expect([...users(read)]).toEqual(first)
  expect(users(facts)).toEqual(new Set(first))
  expect(read.length).toBeLessThanOrEqual(limits.install_aliases_max + 2 * limits.install_facts_max)
  const user_keys = ['user 901', `user ${900 + limits.install_aliases_max}`].map((user) => matchKey('user', user))
  const ofUsers = await findDecidingFacts(clickhouse, app_id, ['i'], { user_keys })
  expect([...users(ofUsers.get('i')!)]).toEqual(['user 901'])
})

test('facts of an erased life hide none of the new one, also where the erased event tells an earlier time', async () => {
  const mark_ms = t0 + 500
  const facts = [
    ...numbers(0, 400).map((n) => install('again', n)),
    // Received after the mark, of an event before it.
    ...numbers(501, 100).map((n) => ({ ...install('again', n), dated_at_ms: t0 + 100 })),
    install('again', 700, 'app_first_open'),
    install('again', 701),
  ]
  await store(facts)
  const markOf = (install_uuid: string) => (install_uuid === 'again' ? mark_ms : null)
  const found = await findDecidingFacts(clickhouse, app_id, ['again', 'i'], { markOf })
  expect(found.get('again')!.map(({ place }) => place.offset)).toEqual([700, 701])
  expect(found.get('i')).toBeDefined()
})

test('installs with any number of users and events are read in little memory, and as one with few', async () => {
  const rows = (uuid: string, kind: string, name: string, key: string) =>
    `SELECT '${app_id}', concat('${uuid}', toString(number % 20)), toDate(${t0} / 1000), ${t0} + intDiv(number, 20), '${kind}',
       concat('{"kind":"${kind}","install_uuid":"${uuid}', toString(number % 20), '",${name},"filling":"', repeat('x', 300), '","place":{"topic":"t@a","partition":0,"offset":', toString(number), ',"index":0}}'),
       [${key}], 't@a', 0, number, 0 FROM numbers(200000)`
  const inserts = [
    rows('told', 'alias', `"user_id":"', toString(number), '"`, 'number'),
    rows('opened', 'install', `"event_name":"app_first_open"`, '1'),
  ]
  for (const select of inserts)
    await clickhouse.command(
      `INSERT INTO install_facts_v1 (app_id, install_uuid, day, received_at_ms, kind, fact, match_keys, topic, partition, offset, event_index) ${select}`,
    )
  const bounded: Parameters<typeof findDecidingFacts>[0] = {
    query: (sql) => clickhouse.query(`${sql} SETTINGS max_memory_usage = 60000000, max_threads = 1`),
  }
  const uuids = numbers(0, 20).flatMap((n) => [`told${n}`, `opened${n}`])
  const found = await findDecidingFacts(bounded, app_id, uuids)
  const offsets = (uuid: string) => found.get(uuid)!.map(({ place }) => place.offset)
  expect(offsets('told3')).toEqual(numbers(0, limits.install_aliases_max).map((n) => 3 + n * 20))
  expect(offsets('opened3')).toEqual(numbers(0, limits.install_facts_max).map((n) => 3 + n * 20))
})

test('users of one moment count by their place, whoever is asked for', async () => {
  const users = limits.install_aliases_max + 10
  await store(numbers(0, users).map((n) => ({ ...alias('moment', n, `m${n}`), received_at_ms: t0 })))
  const asked = [limits.install_aliases_max - 1, limits.install_aliases_max]
  const user_keys = asked.map((n) => matchKey('user', `m${n}`))
  const ofUsers = await findDecidingFacts(clickhouse, app_id, ['moment'], { user_keys })
  expect(ofUsers.get('moment')!.map(({ place }) => place.offset)).toEqual(asked.slice(0, 1))
  const [, beyond] = user_keys
  expect(await findDecidingFacts(clickhouse, app_id, ['moment'], { user_keys: [beyond!] })).toEqual(new Map())
})

test('of an install with few rows no more events count than of one with many', async () => {
  const events = limits.install_facts_max + 5
  await store(numbers(0, events).map((n) => install('few', n)))
  const found = await findDecidingFacts(clickhouse, app_id, ['few'])
  expect(found.get('few')!.map(({ place }) => place.offset)).toEqual(numbers(0, limits.install_facts_max))
})

test('an install with any fact that the caller does not hold is read, and one without such a fact is not', async () => {
  const [own, again, once] = [install('held alone', 1), install('held and another', 2), install('held twice', 3)]
  const many = numbers(10, 8).map((n) => install('held many', n))
  await store([own, again, install('held and another', 9), once, install('stored only', 4), ...many])
  await store([once])
  const asked = ['held alone', 'held and another', 'held twice', 'stored only', 'held many', 'not stored yet']
  const held = [own, again, once, once, ...many, install('not stored yet', 5)]
  const found = await findWithOthers(clickhouse, app_id, asked, held)
  expect(found).toEqual(['held and another', 'stored only', 'held many'])
  expect(await findWithOthers(clickhouse, randomUUID(), ['held alone'], [own])).toEqual([])
})
