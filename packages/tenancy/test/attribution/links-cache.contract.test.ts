import { afterAll, beforeAll, expect, test } from 'vitest'
import { changeApp, rotateSigningSecret } from '../../src/companies/apps.ts'
import { setLinkStatus } from '../../src/companies/links.ts'
import { setCompanyStatus } from '../../src/companies/tenants.ts'
import { openMasterKeys } from '../../src/secrets/master-keys.ts'
import { masterKeys, openWorld, request, until } from './attribution-world.ts'

let world: Awaited<ReturnType<typeof openWorld>>
beforeAll(async () => {
  world = await openWorld()
})
afterAll(() => world.close())

const minutes = (n: number) => n * 60_000

test('a link is found with what a redirect needs, and its secrets are made at the first use', async () => {
  const { company_id, ios } = await world.tenant()
  const link_id = await world.link(ios)
  const { links } = await world.startProcess()
  expect(await links.find(link_id)).toEqual({
    ...{ link_id, company_id, app_id: ios, enabled: true, company_status: 'active', partner: 'acme', honeypot: false },
    ...{ campaign: null, ad_group: null, creative: null, fallback_url: null, deep_link: null, countries: null },
    ...{
      lookback_hours: null,
      platform: 'ios',
      bundle_id: null,
      store_id: expect.stringMatching(/^\d+$/),
      provider_token: 'pt1',
    },
    ...{ link_secret: expect.any(Buffer), salt: expect.any(Buffer) },
  })
  const { link_secret, salt } = (await links.find(link_id))!
  expect([link_secret.length, salt.length]).toEqual([32, 32])
  expect(link_secret.equals(salt)).toBe(false)
})

test('an unknown link is null, and one of a wrong shape is null without PostgreSQL too', async () => {
  const { links, proxy } = await world.startProcess()
  expect(links.recall('AAAAAAAAAAAA')).toBe('unasked')
  // PostgreSQL may know of the listener before this process does, which forgets all then.
  await until('it is kept', async () => {
    expect(await links.find('AAAAAAAAAAAA')).toBeNull()
    return links.recall('AAAAAAAAAAAA') === 'unknown'
  })
  proxy.cut()
  for (const wrong of ['', 'AAAAAAAAAAA', 'AAAAAAAAAAAAA', 'AAAAAAAAAAA\n', 'AAAAAAAAAA/.', "' OR 1=1 --"]) {
    expect(links.recall(wrong)).toBe('unknown')
    expect(await links.find(wrong)).toBeNull()
  }
})

test('two processes that make a secret at the same time have the same one', async () => {
  const processes = await Promise.all([1, 2, 3].map(() => world.startProcess()))
  const { android, ios } = await world.tenant()
  const ids = [await world.link(android), await world.link(ios)]
  const found = await Promise.all(
    processes.map(({ links, appsWithSecrets: apps }, n) =>
      Promise.all([
        ...(n % 2 === 0 ? ids : ids.toReversed()).map((id) => links.find(id)),
        apps.find(android),
        apps.find(ios),
      ]),
    ),
  )
  const hex = (one: { app_id: string; link_secret: Buffer; salt: Buffer } | null) =>
    `${one?.app_id} ${one?.link_secret.toString('hex')} ${one?.salt.toString('hex')}`
  expect(new Set(found.flat().map(hex)).size).toBe(2)
  expect(new Set(found.flat().map((one) => one?.salt.toString('hex'))).size).toBe(1)
})

test.each([
  ['commits', 'COMMIT', true],
  ['is killed', 'ROLLBACK', false],
])(
  'a process waits for another that is making the secret, and has that one if the other %s',
  async (_what, end, same) => {
    const { company_id, android } = await world.tenant()
    const link_id = await world.link(android)
    const place = { purpose: 'link_secret', company_id, app_id: android } as const
    const { key_id, iv, ciphertext, tag } = masterKeys.encrypt('ab'.repeat(32), place)
    const { links } = await world.startProcess()
    const other = await world.pool.connect()
    await other.query('BEGIN')
    await other.query('INSERT INTO link_secrets VALUES ($1, $2, $3, $4, $5)', [android, key_id, iv, ciphertext, tag])
    const found = links.find(link_id)
    const waiting = `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE 'INSERT INTO link_secrets%'`
    await until('it waits', async () => (await world.pool.query(waiting)).rowCount === 1)
    await other.query(end)
    other.release()
    const { link_secret } = (await found)!
    expect(link_secret.length).toBe(32)
    expect(link_secret.equals(Buffer.alloc(32, 0xab))).toBe(same)
  },
)

test('a new, disabled, enabled or suspended link and a changed app are seen at once', async () => {
  const { links } = await world.startProcess()
  const { company_id, android } = await world.tenant()
  const link_id = await world.link(android)
  const seen = async (what: object) => {
    const matches = async () => expect(await links.find(link_id)).toMatchObject(what)
    await until(JSON.stringify(what), () =>
      matches().then(
        () => true,
        () => false,
      ),
    )
  }
  await seen({ enabled: true, bundle_id: 'com.acme.game' })
  await setLinkStatus(world.pool, link_id, 'disabled', request)
  await seen({ enabled: false })
  await setLinkStatus(world.pool, link_id, 'enabled', request)
  await seen({ enabled: true })
  await changeApp(world.pool, android, { bundle_id: 'com.acme.other' }, request)
  await seen({ bundle_id: 'com.acme.other' })
  await setCompanyStatus(world.pool, company_id, 'suspended', request)
  await seen({ company_status: 'suspended' })
})

test('a link that was unknown is found once it is made', async () => {
  const { links } = await world.startProcess()
  const { android } = await world.tenant()
  const link_id = 'BBBBBBBBBBBB'
  expect(await links.find(link_id)).toBeNull()
  await world.pool.query(
    `INSERT INTO links (link_id, app_id, partner, honeypot, created_at) VALUES ($1, $2, 'acme', true, now())`,
    [link_id, android],
  )
  await until('it is found', async () => (await links.find(link_id))?.honeypot === true)
})

test('with PostgreSQL away known links go on for ten minutes, unknown ones are told to come again', async () => {
  const { links, proxy, clock } = await world.startProcess()
  const { android } = await world.tenant()
  const link_id = await world.link(android)
  await until('it is known', async () => (await links.find(link_id)) !== null)
  proxy.cut()
  const unavailable = { code: 'unavailable', status: 503, headers: { 'retry-after': '1' } }
  for (const later of [0, 10_000, minutes(5), minutes(4)]) {
    clock.now_ms += later
    expect(await links.find(link_id)).toMatchObject({ app_id: android })
    await expect(links.find('CCCCCCCCCCCC')).rejects.toMatchObject(unavailable)
  }
  clock.now_ms += minutes(1)
  await expect(links.find(link_id)).rejects.toMatchObject(unavailable)
})

test('secrets of a missing master key are answered "unavailable", and the log holds no secret', async () => {
  const { android } = await world.tenant()
  const link_id = await world.link(android)
  const { links } = await world.startProcess()
  const { link_secret, salt } = (await links.find(link_id))!
  const other = await world.startProcess({ keys: openMasterKeys([{ id: 'other', key: Buffer.alloc(32, 2) }]) })
  await expect(other.links.find(link_id)).rejects.toMatchObject({ code: 'unavailable' })
  expect(other.logged()).toContain('needs master key test')
  for (const secret of [link_secret, salt]) expect(other.logged()).not.toContain(secret.toString('hex'))
})

test('a new signing secret keeps a link secret that can be read, and replaces one whose master key is lost', async () => {
  const { android, ios } = await world.tenant()
  const [link_id, second] = [await world.link(android), await world.link(ios)]
  const { links } = await world.startProcess()
  const before = (await links.find(link_id))!
  const next = openMasterKeys([{ id: 'next', key: Buffer.alloc(32, 2) }])
  const after = await world.startProcess({ keys: next })
  await rotateSigningSecret(world.pool, masterKeys, android, 0, request)
  expect((await (await world.startProcess()).links.find(link_id))?.link_secret).toEqual(before.link_secret)

  await rotateSigningSecret(world.pool, next, android, 0, request)
  await until('it is found', () => after.links.find(link_id).then(Boolean, () => false))
  const made = (await after.links.find(link_id))!
  expect([made.link_secret.length, made.salt.length]).toEqual([32, 32])
  expect([made.link_secret.equals(before.link_secret), made.salt.equals(before.salt)]).toEqual([false, false])
  // The salt is that of the company: the other app needs no more than its own link secret.
  expect((await after.links.find(second))?.salt).toEqual(made.salt)
})
