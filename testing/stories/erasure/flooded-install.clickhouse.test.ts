import { hash, randomUUID } from 'node:crypto'
import type { InstallFact } from '@tributary/contracts/attribution/found'
import { day_ms, limits } from '@tributary/contracts/limits'
import { factColumns, factLine } from '@tributary/tables/attribution/facts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ErasureStage, openErasureStage } from './stage.ts'

let stage: ErasureStage
beforeAll(async () => {
  stage = await openErasureStage()
})
afterAll(() => stage.close())

const now_ms = Date.now()
const t0 = now_ms - 3 * day_ms
let places = 0
const fact = (
  app_id: string,
  install_uuid: string,
  device_hashes: string[],
  more: Partial<InstallFact> = {},
): InstallFact => {
  places += 1
  return {
    ...{ kind: 'install', v: 1, company_id: 'co_1', app_id, install_uuid, received_at_ms: t0 },
    place: { topic: 'events.accepted.v1@test', partition: 0, offset: places, index: 0 },
    ...{ event_name: 'app_install', is_sdk: true, platform: 'android', installed_at_ms: t0, ip: '203.0.113.200' },
    ...{ os_major: 15, model: 'Pixel 9', device_hashes, user_id: null, referrer: null, named_click: null },
    ...{ referrer_click_server_s: null, install_begin_server_s: null },
    ...more,
  }
}

const store = (facts: InstallFact[]) =>
  stage.clickhouse.insert({
    ...{ table: 'install_facts_v1', columns: factColumns, token: randomUUID() },
    lines: facts.map(factLine).join('\n'),
  })

/** Their devices in one statement would be more than the 4 MiB that an engine takes. */
const events = 55_000

test('an install with 55,000 install events, each of other devices, is erased step by step, and keeps no other company waiting', async () => {
  const [flooded, other] = [await stage.makeApp(), await stage.makeApp()]
  // An install of the same network, between the first event of the other one and all the rest.
  const beside = { received_at_ms: t0 + 1, ip: '203.0.113.7', os_major: 14, model: 'Nokia' }
  await store([fact(flooded, 'flood', ['first']), fact(flooded, 'beside', ['other'], beside)])
  for (let at = 0; at < events; at += 5000) {
    const some = Array.from({ length: 5000 }, (_, n) => [0, 1, 2, 3].map((k) => hash('sha256', `${at + n} ${k}`)))
    await store(some.map((devices) => fact(flooded, 'flood', devices, { received_at_ms: t0 + 2 })))
  }
  await store([fact(other, 'person', ['own'])])
  await stage.request(flooded, ['flood'], 'sdk', now_ms)
  await stage.request(other, ['person'], 'sdk', now_ms)
  let at_ms = now_ms + 1
  const batches_max = 5
  let batches = 0
  const again = new Set<string>()
  const run = stage.run({
    now: () => at_ms,
    redecisions: {
      async add(installs) {
        for (const { install_uuid } of installs) again.add(install_uuid)
      },
    },
    atStep(step) {
      if (step !== 'end') return
      at_ms += limits.erasure_finish_pause_ms / 2
      batches += 1
      if (batches > batches_max) throw new Error('enough of them')
    },
  })
  await expect(run).rejects.toThrow('enough of them')
  expect((await stage.certificate(other, 'person'))?.state).toBe('completed')
  expect([...again]).toEqual(['beside'])
  const [left] = await stage.clickhouse.query<{ n: number }>(
    `SELECT count() AS n FROM install_facts_v1 WHERE app_id = '${flooded}'`,
  )
  expect(left!.n).toBeLessThan(events - 80 * 2)
})
