import { randomUUID } from 'node:crypto'
import { createApp, createCompany } from '@tributary/tenancy/companies/tenants'
import { openMasterKeys } from '@tributary/tenancy/secrets/master-keys'
import { rotateMasterKey } from '@tributary/tenancy/secrets/rotate-master-key'
import { openTestPostgres, type TestPostgres } from '@tributary/testing/engines/test-postgres'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openTombstones, TombstonesLostError } from '../src/tombstones/tombstones.ts'
import { type NewTombstone, writeTombstones } from '../src/tombstones/write-tombstones.ts'

const key = { id: 'first', key: Buffer.alloc(32, 1) }
const masterKeys = openMasterKeys([key])
const request = { actor: 'test', request_id: 'r', now_ms: Date.UTC(2026, 2, 1) }
const first_mark_ms = Date.UTC(2026, 2, 10)
const later_mark_ms = Date.UTC(2026, 2, 20)

let db: TestPostgres
beforeAll(async () => {
  db = await openTestPostgres()
})
afterAll(() => db.close())

async function makeApp(keys = masterKeys): Promise<string> {
  const { company_id } = await createCompany(db.pool, { name: 'Acme', plan: 'free' }, request)
  const made = await createApp(db.pool, keys, { company_id, name: 'Game', platform: 'ios' }, request)
  return made.app_id
}

const open = (keys = masterKeys) => openTombstones({ pool: db.pool, masterKeys: keys })
const write = (tombstones: NewTombstone[]) => writeTombstones({ pool: db.pool, masterKeys }, tombstones)
const install = (app_id: string, id: string, mark_ms = first_mark_ms): NewTombstone => ({
  ...{ app_id, kind: 'install', id, mark_ms },
})

test('an erased install has its mark, and nothing else has one', async () => {
  const [app_id, other] = [await makeApp(), await makeApp()]
  const [uuid, click_id] = [randomUUID(), randomUUID()]
  const { newest } = await write([install(app_id, uuid), { ...install(app_id, click_id), kind: 'click' }])
  const tombstones = await open().upTo(newest)
  expect(tombstones.markOf(app_id, uuid)).toBe(first_mark_ms)
  expect(tombstones.isErasedClick(app_id, click_id)).toBe(true)
  expect(tombstones.markOf(app_id, click_id)).toBeNull()
  expect(tombstones.isErasedClick(app_id, uuid)).toBe(false)
  expect(tombstones.markOf(other, uuid)).toBeNull()
  expect([tombstones.hasAny(app_id), tombstones.hasAny(other)]).toEqual([true, false])
})

test('a number gives the same answers when more was erased since', async () => {
  const app_id = await makeApp()
  const [uuid, later] = [randomUUID(), randomUUID()]
  const store = open()
  const before = await store.newest()
  const first = (await write([install(app_id, uuid)])).newest
  const second = (await write([install(app_id, uuid, later_mark_ms), install(app_id, later)])).newest
  expect(await store.newest()).toBe(second)
  const at = async (number: number) => {
    const tombstones = await store.upTo(number)
    return [tombstones.hasAny(app_id), tombstones.markOf(app_id, uuid), tombstones.markOf(app_id, later)]
  }
  expect(await at(second)).toEqual([true, later_mark_ms, first_mark_ms])
  expect(await at(first)).toEqual([true, first_mark_ms, null])
  expect(await at(before)).toEqual([false, null, null])
})

test('tombstones of many writers have numbers without a gap, each transaction in one piece', async () => {
  const app_id = await makeApp()
  const store = open()
  const before = await store.newest()
  const uuids = Array.from({ length: 8 }, () => Array.from({ length: 25 }, () => randomUUID()))
  await Promise.all(uuids.map((some) => write(some.map((uuid) => install(app_id, uuid)))))
  const { rows } = await db.pool.query<{ number: string }>(
    'SELECT number FROM tombstones WHERE number > $1 ORDER BY number',
    [before],
  )
  expect(rows.map(({ number }) => Number(number))).toEqual(Array.from({ length: 200 }, (_, n) => before + n + 1))
  const tombstones = await store.upTo(before + 200)
  expect(uuids.flat().every((uuid) => tombstones.markOf(app_id, uuid) === first_mark_ms)).toBe(true)
})

test('what fails with the tombstones leaves none of them', async () => {
  const app_id = await makeApp()
  const before = await open().newest()
  const failing = writeTombstones({ pool: db.pool, masterKeys }, [install(app_id, 'x')], async (_client, newest) => {
    expect(newest).toBe(before + 1)
    throw new Error('killed')
  })
  await expect(failing).rejects.toThrow('killed')
  expect(await open().newest()).toBe(before)
})

test('PostgreSQL holds no id, and no tombstone is changed or removed', async () => {
  const app_id = await makeApp()
  const uuid = randomUUID()
  await write([install(app_id, uuid)])
  const { rows } = await db.pool.query('SELECT tombstones::text AS row FROM tombstones')
  expect(rows.filter(({ row }) => row.includes(uuid) || row.includes(Buffer.from(uuid).toString('hex')))).toEqual([])
  await expect(db.pool.query('DELETE FROM tombstones')).rejects.toThrow('kept for ever')
  await expect(db.pool.query('UPDATE tombstones SET mark_ms = 1')).rejects.toThrow('kept for ever')
})

test('tombstones outlive the master key, and an app whose salt is unreadable stops no other', async () => {
  const own = await openTestPostgres()
  try {
    const pool = own.pool
    const { company_id } = await createCompany(pool, { name: 'Acme', plan: 'free' }, request)
    const { app_id } = await createApp(pool, masterKeys, { company_id, name: 'Game', platform: 'ios' }, request)
    const uuid = randomUUID()
    const { newest } = await writeTombstones({ pool, masterKeys }, [install(app_id, uuid)])
    const next = { id: 'next', key: Buffer.alloc(32, 2) }
    await rotateMasterKey(pool, openMasterKeys([next, key]), request)
    const rotated = await openTombstones({ pool, masterKeys: openMasterKeys([next]) }).upTo(newest)
    expect(rotated.markOf(app_id, uuid)).toBe(first_mark_ms)
    const locked = await openTombstones({ pool, masterKeys }).upTo(newest)
    expect(() => locked.markOf(app_id, uuid)).toThrow()
    expect(locked.markOf('another', uuid)).toBeNull()
  } finally {
    await own.close()
  }
})

test('a number that PostgreSQL does not have is refused, not read as fewer tombstones', async () => {
  const store = open()
  await expect(store.upTo((await store.newest()) + 1)).rejects.toThrow(TombstonesLostError)
})
