import { afterAll, beforeAll, expect, test } from 'vitest'
import { changeApp } from '../../src/companies/apps.ts'
import { createApp } from '../../src/companies/tenants.ts'
import { openMasterKeys } from '../../src/secrets/master-keys.ts'
import { masterKeys, openWorld, request, until } from './attribution-world.ts'

let world: Awaited<ReturnType<typeof openWorld>>
beforeAll(async () => {
  world = await openWorld()
})
afterAll(() => world.close())

test('an app is found with its company, its secrets and all apps of the company', async () => {
  const { company_id, android, ios } = await world.tenant()
  await world.tenant()
  const { appsWithSecrets } = await world.startProcess()
  expect(await appsWithSecrets.find(android)).toMatchObject({
    ...{ app_id: android, company_id, platform: 'android', company_apps: [android, ios].toSorted() },
    ...{ link_secret: expect.any(Buffer), salt: expect.any(Buffer) },
  })
  expect(await appsWithSecrets.find('app_nobody')).toBeNull()
})

test('an app that was never given settings has those by default, by its platform', async () => {
  const { android, ios } = await world.tenant()
  const { apps } = await world.startProcess()
  const first = { click_window_hours: 168, probabilistic_window_hours: 24, reinstall_days: 90 }
  expect((await apps.find(android))?.settingsAt(request.now_ms)).toEqual({ ...first, probabilistic: true })
  expect((await apps.find(ios))?.settingsAt(request.now_ms)).toEqual({ ...first, probabilistic: false })
})

test('a new app of the company is among its apps at once', async () => {
  const { company_id, android } = await world.tenant()
  const { apps } = await world.startProcess()
  const known = async () => (await apps.find(android))?.company_apps ?? []
  expect(await known()).toHaveLength(2)
  const { app_id } = await createApp(world.pool, masterKeys, { company_id, name: 'New', platform: 'ios' }, request)
  await until('it is among them', async () => (await known()).includes(app_id))
})

test('an install is matched with the settings of the time when it was received, and a change is seen at once', async () => {
  const { android } = await world.tenant()
  const { apps } = await world.startProcess()
  const at = (now_ms: number) => ({ ...request, now_ms })
  const windowAt = async (received_at_ms: number) =>
    (await apps.find(android))?.settingsAt(received_at_ms).click_window_hours
  const [first_ms, second_ms] = [Date.UTC(2026, 0, 2, 3, 4, 5, 678), Date.UTC(2026, 0, 3, 3, 4, 5, 679)]
  expect(await windowAt(second_ms)).toBe(168)
  await changeApp(world.pool, android, { click_window_hours: 1 }, at(first_ms))
  await changeApp(world.pool, android, { click_window_hours: 2 }, at(second_ms))
  await changeApp(world.pool, android, { click_window_hours: 3 }, at(second_ms))
  await until('the last change is seen', async () => (await windowAt(second_ms)) === 3)
  const times = [0, first_ms - 1, first_ms, second_ms - 1, second_ms, Number.MAX_SAFE_INTEGER]
  expect(await Promise.all(times.map(windowAt))).toEqual([168, 168, 1, 1, 3, 3])
})

test('an app whose secrets need another master key is found by those who read no secret, and others by all', async () => {
  const [{ android: lost }, { android: sound }] = [await world.tenant(), await world.tenant()]
  const other = openMasterKeys([{ id: 'other', key: Buffer.alloc(32, 2) }])
  const elsewhere = await world.startProcess({ keys: other })
  await elsewhere.appsWithSecrets.find(lost)
  const { apps, appsWithSecrets } = await world.startProcess()
  await expect(appsWithSecrets.find(lost)).rejects.toMatchObject({ code: 'unavailable' })
  expect(await appsWithSecrets.find(sound)).toMatchObject({ app_id: sound })
  expect(await apps.find(lost)).toMatchObject({ app_id: lost })
})
