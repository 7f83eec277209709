import { afterAll, beforeAll, expect, test } from 'vitest'
import { changeApp, listApps, moveStoreId } from '../../src/companies/apps.ts'
import { createLink } from '../../src/companies/links.ts'
import { until } from '../attribution/attribution-world.ts'
import { newStoreId, openWorld, request } from './postbacks-world.ts'

let world: Awaited<ReturnType<typeof openWorld>>
beforeAll(async () => {
  world = await openWorld()
})
afterAll(() => world.close())

const appNow = async ({ company_id }: { company_id: string }) => (await listApps(world.pool, company_id, 0))[0]
const taken = { code: 'store_id_taken', status: 409, field: 'store_id' }

test('a store id belongs to the first iOS app that has it, of whatever company, and not to Android', async () => {
  const store_id = newStoreId()
  const first = await world.app(store_id)
  await expect(world.app(store_id)).rejects.toMatchObject(taken)
  await expect(world.app(`00${store_id}`)).rejects.toMatchObject(taken)
  const second = await world.app()
  await expect(changeApp(world.pool, second.app_id, { store_id, name: 'x' }, request)).rejects.toMatchObject(taken)
  expect(await appNow(second)).toMatchObject({ store_id: null, name: 'Game' })
  await world.app(store_id, 'android')
  await changeApp(world.pool, first.app_id, { store_id }, request) // its own
  await changeApp(world.pool, first.app_id, { store_id: '' }, request)
  await changeApp(world.pool, second.app_id, { store_id }, request)
  expect(await appNow(second)).toMatchObject({ store_id, owns_store_id: true })
})

test('of many that take a store id at once, one gets it', async () => {
  const store_id = newStoreId()
  const apps = await Promise.all([1, 2, 3].map(() => world.app()))
  const all = await Promise.allSettled([
    ...[1, 2, 3].map(() => world.app(store_id)),
    ...apps.map(({ app_id }) => changeApp(world.pool, app_id, { store_id }, request)),
  ])
  const refused = all.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []))
  expect(refused).toHaveLength(5)
  for (const reason of refused) expect(reason).toMatchObject(taken)
})

test('an app whose store id moved away keeps it for its links, may change all else, and takes the id once it is free', async () => {
  const store_id = newStoreId()
  const [from, to] = [await world.app(store_id), await world.app(newStoreId())]
  await createLink(world.pool, { app_id: from.app_id, partner: 'acme', honeypot: false }, request)
  await moveStoreId(world.pool, to.app_id, store_id, request)
  const { stores } = await world.startProcess()
  expect(await stores.find(from.app_id)).toMatchObject({ store_id: null })
  expect(await stores.findOwner(store_id)).toMatchObject({ app_id: to.app_id })
  const changed = await changeApp(world.pool, from.app_id, { name: 'Run' }, request)
  expect(changed).toMatchObject({ name: 'Run', store_id, owns_store_id: false })
  await expect(changeApp(world.pool, from.app_id, { store_id }, request)).rejects.toMatchObject(taken)
  await changeApp(world.pool, to.app_id, { store_id: newStoreId() }, request)
  expect(await changeApp(world.pool, from.app_id, { store_id }, request)).toMatchObject({ owns_store_id: true })
})

test('the setting of unverified receipts acts in every process at once, on apps of both platforms', async () => {
  const apps = [await world.app(), await world.app(undefined, 'android')]
  const { stores } = await world.startProcess()
  for (const { app_id } of apps) {
    for (const valid_receipts_only of [true, false]) {
      expect(await stores.find(app_id)).toMatchObject({ valid_receipts_only: !valid_receipts_only })
      const changed = await changeApp(world.pool, app_id, { valid_receipts_only }, request)
      expect(changed).toMatchObject({ valid_receipts_only })
      await until('it acts', async () => (await stores.find(app_id))?.valid_receipts_only === valid_receipts_only)
    }
  }
})

test('a moved store id belongs to the other app at once in every process', async () => {
  const store_id = newStoreId()
  const [from, to] = [await world.app(store_id), await world.app()]
  const { stores } = await world.startProcess()
  const settings = { development_keys: false, valid_receipts_only: false }
  expect(await stores.findOwner(store_id)).toEqual({ ...from, store_id, ...settings })
  expect(await stores.find(to.app_id)).toEqual({ ...to, store_id: null, ...settings })
  const moved = await moveStoreId(world.pool, to.app_id, store_id, request)
  expect(moved).toMatchObject({ app_id: to.app_id, store_id, owns_store_id: true })
  expect(await appNow(from)).toMatchObject({ store_id: null })
  await until('it is moved', async () => (await stores.findOwner(store_id))?.app_id === to.app_id)
  await until('it is gone', async () => (await stores.find(from.app_id))?.store_id === null)
  expect(await moveStoreId(world.pool, to.app_id, store_id, request)).toEqual(moved)
  const { rows } = await world.pool.query('SELECT detail FROM admin_audit_log WHERE subject = $1 AND action = $2', [
    to.app_id,
    'app.move_store_id',
  ])
  expect(rows).toEqual([{ detail: { store_id, from: from.app_id } }])
})

test('a move names the store id that the app had before, which no app has then', async () => {
  const [store_id, before] = [newStoreId(), newStoreId()]
  const [, to] = [await world.app(store_id), await world.app(before)]
  const moved = await moveStoreId(world.pool, to.app_id, store_id, request)
  expect(moved).toMatchObject({ store_id, dropped_store_id: before })
  expect(await moveStoreId(world.pool, to.app_id, store_id, request)).not.toHaveProperty('dropped_store_id')
  expect(await world.app(before)).toMatchObject({ app_id: expect.any(String) })
})

test('an Android app gets no development keys: Apple sends no postbacks of it', async () => {
  const { app_id } = await world.app(undefined, 'android')
  const change = changeApp(world.pool, app_id, { name: 'Run', development_keys: true }, request)
  await expect(change).rejects.toMatchObject({ code: 'invalid_field', field: 'development_keys' })
  expect(await changeApp(world.pool, app_id, { bundle_id: 'com.example.run' }, request)).not.toMatchObject({
    name: 'Run',
  })
})

test('moves that cross each other all end, and the store ids are where one order of them puts them', async () => {
  const ids = [newStoreId(), newStoreId()]
  const apps = await Promise.all(ids.map((store_id) => world.app(store_id)))
  const moves = await Promise.allSettled(
    [0, 1, 0, 1].map((n) => moveStoreId(world.pool, apps[1 - n]!.app_id, ids[n]!, request)),
  )
  for (const move of moves)
    if (move.status === 'rejected') expect(move.reason).toMatchObject({ code: 'invalid_field', field: 'store_id' })
  const owned = (await Promise.all(apps.map(appNow))).map((app) => app?.store_id).filter((id) => id !== null)
  expect(owned.length).toBeGreaterThan(0)
  expect(new Set(owned).size).toBe(owned.length)
})

test('a move to an Android app, of a store id that nobody has, or to no app is refused', async () => {
  const store_id = newStoreId()
  const [owner, android] = [await world.app(store_id), await world.app(undefined, 'android')]
  const move = (app_id: string, id: string) => moveStoreId(world.pool, app_id, id, request)
  await expect(move(android.app_id, store_id)).rejects.toMatchObject({ code: 'invalid_field', field: 'id' })
  await expect(move(owner.app_id, newStoreId())).rejects.toMatchObject({ code: 'invalid_field', field: 'store_id' })
  await expect(move(owner.app_id, 'id1')).rejects.toMatchObject({ code: 'invalid_field', field: 'store_id' })
  await expect(move(owner.app_id, '0')).rejects.toMatchObject({ code: 'invalid_field', field: 'store_id' })
  await expect(async () => move('app_none', store_id)).rejects.toMatchObject({ code: 'unknown_app' })
  expect(await appNow(owner)).toMatchObject({ store_id })
})

test('development keys count when the app asks, in every process at once', async () => {
  const store_id = newStoreId()
  const { app_id } = await world.app(`0${store_id}`)
  const { stores, proxy } = await world.startProcess()
  expect(await stores.find(app_id)).toMatchObject({ development_keys: false, store_id })
  await changeApp(world.pool, app_id, { development_keys: true }, request)
  await until('it counts', async () => (await stores.find(app_id))?.development_keys === true)
  expect(await stores.findOwner('1')).toBeNull()
  const largest = await world.app('18446744073709551615')
  expect(await stores.find(largest.app_id)).toMatchObject({ store_id: '18446744073709551615' })
  const larger = await world.app('18446744073709551616')
  expect(await stores.find(larger.app_id)).toMatchObject({ store_id: null })
  const items = await stores.ownedItems()
  expect(items).toEqual(expect.arrayContaining([store_id, '18446744073709551615']))
  expect(items).not.toContain('18446744073709551616')
  proxy.cut()
  await expect(stores.ownedItems()).rejects.toMatchObject({ code: 'unavailable' })
  for (const wrong of ['', '0', '01', 'x', '18446744073709551616', '1'.repeat(21)])
    expect(await stores.findOwner(wrong)).toBeNull()
})
