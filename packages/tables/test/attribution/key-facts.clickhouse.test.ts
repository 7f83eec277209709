import { randomUUID } from 'node:crypto'
import type { InstallFact } from '@tributary/contracts/attribution/found'
import { limits } from '@tributary/contracts/limits'
import { matchKey } from '@tributary/domain/attribute/match-keys'
import { openTestClickhouse, type TestClickhouse } from '@tributary/testing/engines/test-clickhouse'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { factColumns, factLine } from '../../src/attribution/facts.ts'
import { findAround, findFirstByKey, findLastByKey, type KeyFact } from '../../src/attribution/key-facts.ts'

let clickhouse: TestClickhouse
beforeAll(async () => {
  clickhouse = await openTestClickhouse()
})
afterAll(() => clickhouse.close())

const real = { ...limits }
beforeEach(() => void Object.assign(limits, { crowd_facts: 3, key_facts_max: 20 }))
afterEach(() => void Object.assign(limits, real))

/** Far enough from now that tables keep its clicks. */
const t0 = Date.UTC(2099, 5, 1)
const match_key = matchKey('user', 'u')

/** The `n`th install of the user, `n` seconds after the first. */
const install = (app_id: string, n: number): InstallFact => ({
  ...{ kind: 'install', v: 1, company_id: 'co_1', app_id, install_uuid: `i${n}`, event_name: 'app_install' },
  ...{ installed_at_ms: t0 + n * 1000, received_at_ms: t0 + n * 1000, is_sdk: true, platform: 'android', user_id: 'u' },
  place: { topic: 'events.accepted.v1@a', partition: 0, offset: n, index: 0 },
  ...{ ip: null, os_major: null, model: null, device_hashes: [], referrer: null, named_click: null },
  ...{ referrer_click_server_s: null, install_begin_server_s: null },
})

/** An app with `count` installs of one user, of which those of `living` alone are not erased. */
async function manyErased(count: number, living: readonly number[]) {
  const app_id = randomUUID()
  const lines = Array.from({ length: count }, (_, n) => factLine(install(app_id, n))).join('\n')
  await clickhouse.insert({ table: 'install_facts_v1', columns: factColumns, lines, token: randomUUID() })
  const uuids = new Set(living.map((n) => `i${n}`))
  return { app_id, isLiving: ({ install_uuid }: KeyFact) => uuids.has(install_uuid) }
}

const namesOf = (facts: readonly KeyFact[]) => facts.map(({ install_uuid }) => install_uuid)

test('erased facts that are not deleted yet hide no living one that sees a click', async () => {
  const { app_id, isLiving } = await manyErased(900, [5, 750, 751, 790, 899])
  const seen = async (...from: number[]) => {
    const ranges = from.map((n) => ({ app_id, match_key, installed_from_ms: t0 + n * 1000 }))
    return (await findFirstByKey(clickhouse, ranges, isLiving)).map(namesOf)
  }
  expect(await seen(6, 751, 0, 791, 6)).toEqual([
    ['i750', 'i751', 'i790'],
    ['i751', 'i790', 'i899'],
    ['i5', 'i750', 'i751'],
    ['i899'],
    ['i750', 'i751', 'i790'],
  ])
})

test('erased facts hide no living one before or after an install', async () => {
  const { app_id, isLiving } = await manyErased(900, [0, 1, 2, 3, 450, 896, 897, 898, 899])
  const installs = [448, 450, 895, 0].map((n) => ({ match_key, install: install(app_id, n) }))
  const around = (await findAround(clickhouse, app_id, installs, isLiving)).map(namesOf)
  expect(around).toEqual([
    ['i1', 'i2', 'i3', 'i450', 'i896', 'i897'],
    ['i1', 'i2', 'i3', 'i896', 'i897', 'i898'],
    ['i2', 'i3', 'i450', 'i896', 'i897', 'i898', 'i899'],
    ['i1', 'i2', 'i3'],
  ])
})

test('installs of one key that lie close together share the facts around them, and hold few more than they need', async () => {
  const { app_id } = await manyErased(400, [])
  const installs = Array.from({ length: 100 }, (_, n) => ({ match_key, install: install(app_id, 100 + n) }))
  const around = await findAround(clickhouse, app_id, installs)
  expect(Math.max(...around.map(({ length }) => length))).toBeLessThanOrEqual(2 * limits.crowd_facts + 2)
  expect(new Set(around.flat()).size).toBe(new Set(around.flatMap(namesOf)).size)
})

test('a key whose latest facts are all erased is known to have earlier ones', async () => {
  const { app_id, isLiving } = await manyErased(30, [1])
  const found = await findLastByKey(clickhouse, app_id, { match_keys: [match_key], installed_from_ms: 0 }, isLiving)
  expect(found.get(match_key)).toEqual({ rows: [], cut: true })
})
