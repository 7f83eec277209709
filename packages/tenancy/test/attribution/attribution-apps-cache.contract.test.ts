import { afterAll, beforeAll, expect, test } from 'vitest'
import { createApp } from '../../src/companies/tenants.ts'
import { masterKeys, openWorld, request, until } from './attribution-world.ts'

let world: Awaited<ReturnType<typeof openWorld>>
beforeAll(async () => {
  world = await openWorld()
})
afterAll(() => world.close())

test('an app is found with its company, its secrets and all apps of the company', async () => {
  const { company_id, android, ios } = await world.tenant()
  await world.tenant()
  const { apps } = await world.startProcess()
  expect(await apps.find(android)).toMatchObject({
    ...{ app_id: android, company_id, platform: 'android', company_apps: [android, ios].toSorted() },
    ...{ link_secret: expect.any(Buffer), salt: expect.any(Buffer) },
  })
  expect(await apps.find('app_nobody')).toBeNull()
})

test('an app that was never given settings has those by default, by its platform', async () => {
  const { android, ios } = await world.tenant()
  const { apps } = await world.startProcess()
  const first = { click_window_hours: 168, probabilistic_window_hours: 24, reinstall_days: 90 }
  expect((await apps.find(android))?.settingsAt(request.now_ms)).toEqual({ ...first, probabilistic: true })
  expect((await apps.find(ios))?.settingsAt(request.now_ms)).toEqual({ ...first, probabilistic: false })
})

test('a new app of the company is among its apps within a second', async () => {
  const { company_id, android } = await world.tenant()
  const { apps } = await world.startProcess()
  const known = async () => (await apps.find(android))?.company_apps ?? []
  expect(await known()).toHaveLength(2)
  const { app_id } = await createApp(world.pool, masterKeys, { company_id, name: 'New', platform: 'ios' }, request)
  await until('it is among them', async () => (await known()).includes(app_id), 1_000)
})
