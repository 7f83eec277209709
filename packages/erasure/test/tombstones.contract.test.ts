import { randomUUID } from 'node:crypto'
import { createApp, createCompany } from '@tributary/tenancy/companies/tenants'
import { openMasterKeys } from '@tributary/tenancy/secrets/master-keys'
import { rotateMasterKey } from '@tributary/tenancy/secrets/rotate-master-key'
import { openTestPostgres, type TestPostgres } from '@tributary/testing/engines/test-postgres'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { TombstonesLostError } from '../src/tombstones/known-tombstones.ts'
import { openTombstones } from '../src/tombstones/tombstones.ts'
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

test('tombstones of many writers have numbers of their own, each transaction in one piece', async () => {
  const app_id = await makeApp()
  const store = open()
  const before = await store.newest()
  const uuids = Array.from({ length: 8 }, () => Array.from({ length: 25 }, () => randomUUID()))
  await Promise.all(uuids.map((some) => write(some.map((uuid) => install(app_id, uuid)))))
  const { rows } = await db.pool.query<{ number: string }>(
    'SELECT number FROM tombstones WHERE number > $1 ORDER BY number',
    [before],
  )
  const numbers = rows.map(({ number }) => Number(number))
  const pieces = Array.from({ length: 8 }, (_, n) => numbers.slice(n * 25, (n + 1) * 25))
  for (const piece of pieces) expect(piece).toEqual(piece.map((_, n) => piece[0]! + n))
  expect(new Set(numbers).size).toBe(200)
  const tombstones = await store.upTo(numbers.at(-1)!)
  expect(uuids.flat().every((uuid) => tombstones.markOf(app_id, uuid) === first_mark_ms)).toBe(true)
})

test('what fails with the tombstones leaves none of them', async () => {
  const app_id = await makeApp()
  const before = await open().newest()
  const failing = writeTombstones({ pool: db.pool, masterKeys }, [install(app_id, 'x')], async (_client, newest) => {
    expect(newest).toBeGreaterThan(before)
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
    expect([locked.isLocked(app_id), locked.isLocked('another')]).toEqual([true, false])
    // Its key comes back while the process runs.
    let now_ms = 0
    const keys = { now: openMasterKeys([key]) }
    const swapped = { ...keys.now, decrypt: ((...given) => keys.now.decrypt(...given)) as typeof masterKeys.decrypt }
    const store = openTombstones({ pool, masterKeys: swapped }, () => now_ms)
    expect((await store.upTo(newest)).isLocked(app_id)).toBe(true)
    keys.now = openMasterKeys([next])
    expect((await store.upTo(newest)).isLocked(app_id)).toBe(true)
    now_ms += 1000
    expect((await store.upTo(newest)).markOf(app_id, uuid)).toBe(first_mark_ms)
  } finally {
    await own.close()
  }
})

/** Puts PostgreSQL back to a state without the tombstones from a number on. */
async function putBack(from: number) {
  await db.pool.query('ALTER TABLE tombstones DISABLE TRIGGER tombstones_are_kept')
  await db.pool.query('DELETE FROM tombstones WHERE number >= $1', [from])
  await db.pool.query('ALTER TABLE tombstones ENABLE TRIGGER tombstones_are_kept')
}

test('when PostgreSQL was put back, no number means other tombstones, and a process that went on obeys the new ones', async () => {
  const app_id = await makeApp()
  const [kept, lost, later] = [randomUUID(), randomUUID(), randomUUID()]
  const older = (await write([install(app_id, kept)])).newest
  const pinned = (await write([install(app_id, lost)])).newest
  const running = open()
  expect((await running.upTo(pinned)).markOf(app_id, lost)).toBe(first_mark_ms)
  await putBack(pinned)
  // The same number of tombstones as were lost, at once: they have other numbers.
  const { newest } = await write([install(app_id, later, later_mark_ms)])
  expect(newest).toBeGreaterThan(pinned)
  for (const store of [running, open()]) {
    expect(await store.newest()).toBe(newest)
    const now = await store.upTo(newest)
    const marks = [kept, lost, later].map((uuid) => now.markOf(app_id, uuid))
    expect(marks).toEqual([first_mark_ms, null, later_mark_ms])
    const before = await store.upTo(older)
    expect([kept, later].map((uuid) => before.markOf(app_id, uuid))).toEqual([first_mark_ms, null])
  }
})

test('a batch waits for tombstones that PostgreSQL lost, until later ones say that they do not come back', async () => {
  const app_id = await makeApp()
  const [kept, lost, later] = [randomUUID(), randomUUID(), randomUUID()]
  await write([install(app_id, kept)])
  const pinned = (await write([install(app_id, lost)])).newest
  await putBack(pinned)
  const store = open()
  await expect(store.upTo(pinned)).rejects.toThrow(TombstonesLostError)
  await expect(store.upTo(pinned)).rejects.toThrow('docs/backup.md')
  const { newest } = await write([install(app_id, later)])
  const left = await store.upTo(pinned)
  expect([kept, lost, later].map((uuid) => left.markOf(app_id, uuid))).toEqual([first_mark_ms, null, null])
  expect(left.number).toBeLessThan(newest)
})
