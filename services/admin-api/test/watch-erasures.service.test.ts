import { limits } from '@tributary/contracts/limits'
import { topics } from '@tributary/contracts/topics'
import { queueErasures } from '@tributary/erasure/queue-erasures'
import type { Trouble } from '@tributary/service-kit/service/health'
import { createApp, createCompany } from '@tributary/tenancy/companies/tenants'
import { openMasterKeys } from '@tributary/tenancy/secrets/master-keys'
import { openTestPostgres, type TestPostgres } from '@tributary/testing/engines/test-postgres'
import { memoryBroker } from '@tributary/testing/twins/memory-broker'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { watchErasures } from '../src/watch-erasures.ts'

const masterKeys = openMasterKeys([{ id: 'test', key: Buffer.alloc(32, 1) }])
const asked_ms = Date.UTC(2026, 5, 1)

let db: TestPostgres
beforeAll(async () => {
  db = await openTestPostgres()
})
afterAll(() => db.close())

test('doctor is told of a request for erasure that waits longer than two nights, until it is erased', async () => {
  const { pool } = db
  const request = { actor: 'test', request_id: 'r', now_ms: asked_ms }
  const { company_id } = await createCompany(pool, { name: 'Acme', plan: 'free' }, request)
  const { app_id } = await createApp(pool, masterKeys, { company_id, name: 'Game', platform: 'ios' }, request)
  const troubles: (() => readonly Trouble[])[] = []
  let now_ms = asked_ms
  const broker = memoryBroker(1, () => now_ms)
  const look = watchErasures({ pool, broker, troubles, now: () => now_ms })
  const told = () => troubles.flatMap((one) => one())
  const ask = (install_uuid: string, requested_at_ms: number) =>
    queueErasures({ pool, masterKeys }, [{ app_id, install_uuid, requested_at_ms, asked_by: 'sdk' }])
  await look()
  await ask('late', asked_ms)
  await ask('soon', asked_ms + limits.erasure_late_ms)
  await look()
  now_ms += limits.erasure_late_ms
  expect(told()).toEqual([])
  now_ms += 1
  expect(told()).toMatchObject([{ code: 'erasures_wait', refuses: false }])
  expect(told()[0]!.message).toContain('since 2026-06-01T00:00:00.000Z, longer than 48 hours')
  expect(JSON.stringify(told())).not.toContain('late"')
  await pool.query(
    `UPDATE erasure_requests SET erased_up_to_ms = $1, install_uuid = NULL WHERE install_uuid = 'late'`,
    [now_ms],
  )
  await look()
  expect(told()).toEqual([])
})

test('doctor is told of a request of an app that no eraser has read', async () => {
  const { pool } = db
  const troubles: (() => readonly Trouble[])[] = []
  let now_ms = asked_ms
  const broker = memoryBroker(2, () => now_ms)
  const look = watchErasures({ pool, broker, troubles, now: () => now_ms })
  const told = () => troubles.flatMap((one) => one())
  const topic = topics.erasuresRequested.name
  await broker.publish([{ topic, partition: 1, key: 'app_1/install-1', value: Buffer.from('{}') }])
  await look()
  now_ms += limits.erasure_late_ms
  expect(told()).toEqual([])
  now_ms += 1
  expect(told()).toMatchObject([{ code: 'erasures_wait', refuses: false }])
  broker.setCommitted('eraser', topic, 1, { offset: 1, metadata: '' })
  await look()
  expect(told()).toEqual([])
})
