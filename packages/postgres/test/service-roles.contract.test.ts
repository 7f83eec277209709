import { generateKeyPairSync, randomBytes, randomInt } from 'node:crypto'
import { noteErasedObjects } from '@tributary/erasure/audit/erased-objects'
import { noteUnreadable } from '@tributary/erasure/audit/unreadable-objects'
import { findCertificate } from '@tributary/erasure/find-certificate'
import { beginBlanking, findLateDays, openLateDays, removeLateDays } from '@tributary/erasure/late-days'
import { queueErasures } from '@tributary/erasure/queue-erasures'
import { openTombstones } from '@tributary/erasure/tombstones'
import { writeTombstones } from '@tributary/erasure/write-tombstones'
import { sealRaw, sealVerdicts } from '@tributary/tables/raw/seal'
import { postgresStamps } from '@tributary/tables/raw/stamps'
import { dropAbandonedVerdicts, endVerdicts, pinVerdicts } from '@tributary/tables/raw/verdict-stamps'
import { openAppsWithSecrets, openAttributionApps } from '@tributary/tenancy/attribution/attribution-apps-cache'
import { openLinks } from '@tributary/tenancy/attribution/links-cache'
import { recordAdminAction } from '@tributary/tenancy/companies/admin-audit'
import { changeApp, rotateSigningSecret } from '@tributary/tenancy/companies/apps'
import { getCvSchema, publishCvSchema } from '@tributary/tenancy/companies/cv-schemas'
import { createLink, listLinks, setLinkStatus } from '@tributary/tenancy/companies/links'
import { readStoreCredentials, setStoreCredentials } from '@tributary/tenancy/companies/store-credentials'
import {
  createApp,
  createCompany,
  createServerKey,
  listAppFacts,
  revokeServerKey,
  setCompanyStatus,
} from '@tributary/tenancy/companies/tenants'
import { openCredentials } from '@tributary/tenancy/credentials/credentials-cache'
import { loadFxRates } from '@tributary/tenancy/fx-rates'
import { readAuditLog } from '@tributary/tenancy/people/audit-log'
import { openGuesses } from '@tributary/tenancy/people/guesses'
import { invitePerson, makeReset } from '@tributary/tenancy/people/one-time-links'
import { changePassword, disableSecondFactor, offerSecondFactor } from '@tributary/tenancy/people/own-account'
import { openPasswords } from '@tributary/tenancy/people/passwords/password-hash'
import { changePerson, removePerson } from '@tributary/tenancy/people/people'
import { removeExpired } from '@tributary/tenancy/people/remove-expired'
import { openSessions } from '@tributary/tenancy/people/sessions/session-cache'
import { findSession, touchSession } from '@tributary/tenancy/people/sessions/sessions'
import { signIn } from '@tributary/tenancy/people/sign-in'
import { acceptInvitation, useReset } from '@tributary/tenancy/people/use-links'
import { openCvSchemas, openLiveSchemas } from '@tributary/tenancy/postbacks/cv-schemas-cache'
import { openStoreApps } from '@tributary/tenancy/postbacks/store-apps-cache'
import { isMasterKeyRight } from '@tributary/tenancy/secrets/master-key-check'
import { openMasterKeys, readMasterKey } from '@tributary/tenancy/secrets/master-keys'
import { rotateMasterKey } from '@tributary/tenancy/secrets/rotate-master-key'
import { findUnreadableSecrets } from '@tributary/tenancy/secrets/unreadable-secrets'
import { openNotifiedApps } from '@tributary/tenancy/stores/notified-apps'
import { openTestPostgres, type TestPostgres } from '@tributary/testing/engines/test-postgres'
import { Pool as PgPool, type Pool } from 'pg'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { applyServiceRoles } from '../src/apply-service-roles.ts'
import { askAwaited, awaitJob, doAwaited, type JobInHand, leaveJob } from '../src/awaited-jobs.ts'
import { migratePostgres } from '../src/migrate.ts'
import { type PostgresService, roleOf, serviceRoles } from '../src/service-roles.ts'

const request = { actor: 'test', request_id: 'r', now_ms: 1_700_000_000_000 }
const services = Object.keys(serviceRoles) as PostgresService[]
const passwordOf = Object.fromEntries(services.map((name) => [name, randomBytes(24).toString('hex')])) as Record<
  PostgresService,
  string
>
const account = {
  ...{ type: 'service_account' as const, client_email: 'play@example.iam.gserviceaccount.com' },
  private_key: String(
    generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ format: 'pem', type: 'pkcs8' }),
  ),
}
const makeKey = () => readMasterKey(randomBytes(32).toString('base64'))
const masterKey = makeKey()
const masterKeys = openMasterKeys([masterKey])
/** They attribute, and decrypt no secret but salts. */
const withoutLinkSecrets = ['click-writer', 'install-attributor'] as const
/** They drop what was erased. */
const erasing = ['event-writer', 'install-finder', 'click-writer', 'install-attributor', 'install-writer'] as const
/** And those that leave it out of replays and comparisons. */
const readTombstones = [...erasing, 'replayer', 'reconciler'] as const
const denied = { code: '42501' } // insufficient_privilege

let db: TestPostgres
beforeAll(async () => {
  db = await openTestPostgres()
  await applyServiceRoles(db.pool, passwordOf)
})
afterAll(() => db.close())

/** A pool with the login of a service. */
function poolOf(service: PostgresService, password = passwordOf[service]): Pool {
  const url = Object.assign(new URL(db.url), { username: roleOf(service), password })
  const pool = new PgPool({ connectionString: url.href, max: 2 })
  onTestFinished(() => pool.end())
  return pool
}

/** Looks that a login may do none of these. */
async function refuses(pool: Pool, ...statements: string[]): Promise<void> {
  for (const sql of statements) await expect(pool.query(sql), sql).rejects.toMatchObject(denied)
}

async function tenant(pool: Pool) {
  const company = await createCompany(pool, { name: 'Acme', plan: 'free' }, request)
  const app = await createApp(pool, masterKeys, { company_id: company.company_id, name: 'A', platform: 'ios' }, request)
  const key = await createServerKey(pool, { app_id: app.app_id, label: 'x', allowed_events: [] }, request)
  await changeApp(pool, app.app_id, { store_id: String(randomInt(2 ** 47)), reinstall_days: 30 }, request)
  const link_id = await createLink(pool, { app_id: app.app_id, partner: 'acme', honeypot: false }, request)
  return { company, app, key, link_id }
}

const logger = pino({ level: 'silent' })
const open = (pool: Pool, keys?: typeof masterKeys) =>
  openCredentials({ pool, ...(keys && { masterKeys: keys }), now: Date.now, logger })

async function readAttribution(pool: Pool, app_id: string) {
  const apps = await openAppsWithSecrets({ pool, masterKeys, now: Date.now, logger })
  onTestFinished(() => apps.close())
  return apps.find(app_id)
}

describe('what a service needs it may do', () => {
  test.each(services)('%s sees that no migration is missing', async (service) => {
    expect(await migratePostgres({ pool: poolOf(service), dryRun: true })).toEqual({ files: [] })
  })

  test('admin-api makes, changes and rotates', async () => {
    const pool = poolOf('admin-api')
    expect(await isMasterKeyRight(pool, masterKeys)).toBe(true)
    const { company, app, key, link_id } = await tenant(pool)
    await readAttribution(db.pool, app.app_id) // makes its secrets
    await rotateSigningSecret(pool, masterKeys, app.app_id, 24, request)
    await rotateSigningSecret(pool, masterKeys, app.app_id, 0, request)
    await setCompanyStatus(pool, company.company_id, 'suspended', request)
    await revokeServerKey(pool, key.key_id, request)
    await setLinkStatus(pool, link_id, 'disabled', request)
    const stores = { pool, masterKeys }
    for (const google of [account, account, null])
      await setStoreCredentials(stores, app.app_id, { apple: null, google }, request)
    await setStoreCredentials(stores, app.app_id, { google: account }, request)
    expect((await readStoreCredentials(stores, app.app_id)).google).toEqual(account)
    await publishCvSchema(pool, app.app_id, [], request)
    expect(await getCvSchema(pool, app.app_id)).toMatchObject({ version: 1 })
    expect(await listLinks(pool, app.app_id)).toMatchObject([{ link_id, status: 'disabled' }])
    await loadFxRates(pool, [{ day: '2026-06-01', currency: 'USD', units: '1.08' }], request)
    const next = makeKey()
    const there = await rotateMasterKey(pool, openMasterKeys([next, masterKey]), request)
    const back = await rotateMasterKey(pool, openMasterKeys([masterKey, next]), request)
    expect([there.unreadable, back.unreadable, back.rotated]).toEqual([0, 0, there.rotated])
  })

  test('admin-api lets people in, changes their roles, and keeps the audit log for years', async () => {
    const pool = poolOf('admin-api')
    const { company } = await tenant(pool)
    const { company_id } = company
    const password = 'a password of this test'
    const deps = { pool, masterKeys, passwords: openPasswords(), guesses: openGuesses(Date.now), now: Date.now }
    const visitor = { ip: '127.0.0.1', agent: 'test', request_id: 'r', browser: null }
    const now = { ...request, now_ms: Date.now() }
    for (const email of ['ada@example.com', 'bob@example.com']) {
      const { token } = await invitePerson(pool, { email, role: 'owner', company_id }, now)
      await acceptInvitation(deps, { token, password }, null, visitor)
    }
    const { session } = await signIn(deps, { email: 'ada@example.com', password }, visitor)
    const sessions = openSessions({ pool, now: Date.now, elapsed: Date.now, logger })
    onTestFinished(() => sessions.close())
    const found = (await sessions.find(session))!
    const { secret } = await offerSecondFactor(deps, found)
    expect(secret).toMatch(/^[A-Z2-7]{32}$/)
    await disableSecondFactor(pool, found, visitor, Date.now())
    await changePassword(deps, found, { password, new_password: `${password} 2` }, visitor)
    const { token } = await makeReset(pool, { email: 'bob@example.com', second_factor: true }, now)
    await useReset(deps, { token, password: `${password} 3` }, visitor)
    await changePerson(pool, { email: 'bob@example.com', role: 'admin', company_id }, now)
    await removePerson(pool, { email: 'bob@example.com', company_id }, now)
    await removeExpired(pool, Date.now())
    expect((await readAuditLog(pool, { company_id, limit: 1 }))[0]).toMatchObject({ action: 'person.remove' })
    await expect(pool.query('DELETE FROM admin_audit_log')).rejects.toThrow('is refused')
  })

  test('ingest-gateway finds keys and signing secrets', async () => {
    const { app, key, company } = await tenant(db.pool)
    const pool = poolOf('ingest-gateway')
    expect(await isMasterKeyRight(pool, masterKeys)).toBe(true)
    const credentials = await open(pool, masterKeys)
    onTestFinished(() => credentials.close())
    expect(await credentials.findApp(app.app_key)).toMatchObject({ signing_secret: app.signing_secret })
    expect(await credentials.findCompany(company.company_key)).toMatchObject({ status: 'active' })
    expect(await credentials.findServerKey(key.key)).toMatchObject({ app_id: app.app_id })
    const schemas = await openLiveSchemas({ pool, now: Date.now, logger })
    onTestFinished(() => schemas.close())
    expect(await schemas.find(app.app_id)).toMatchObject({ version: null })
  })

  test('link-gateway finds links, and makes their secrets', async () => {
    const { app, link_id } = await tenant(db.pool)
    const pool = poolOf('link-gateway')
    expect(await isMasterKeyRight(pool, masterKeys)).toBe(true)
    const links = await openLinks({ pool, masterKeys, now: Date.now, logger })
    onTestFinished(() => links.close())
    expect(await links.find(link_id)).toMatchObject({ app_id: app.app_id, link_secret: expect.any(Buffer) })
  })

  test('postback-gateway finds the apps that stores notify, and none of their secrets', async () => {
    const { app } = await tenant(db.pool)
    const pool = poolOf('postback-gateway')
    const apps = await openNotifiedApps({ pool, now: Date.now, logger })
    onTestFinished(() => apps.close())
    expect(await apps.find(app.app_key)).toMatchObject({ app_id: app.app_id, google_push_email: null })
    await refuses(pool, 'SELECT signing_secret_ciphertext FROM apps', 'SELECT ciphertext FROM google_accounts')
  })

  test('install-finder finds apps and their settings, and makes their secrets', async () => {
    const { app } = await tenant(db.pool)
    const pool = poolOf('install-finder')
    expect(await isMasterKeyRight(pool, masterKeys)).toBe(true)
    const found = await readAttribution(pool, app.app_id)
    expect(found?.settingsAt(request.now_ms)).toMatchObject({ reinstall_days: 30 })
  })

  test.each(withoutLinkSecrets)('%s finds apps and their settings, and no link secret', async (service) => {
    const { app } = await tenant(db.pool)
    const pool = poolOf(service)
    const apps = await openAttributionApps({ pool, now: Date.now, logger })
    onTestFinished(() => apps.close())
    expect((await apps.find(app.app_id))?.settingsAt(request.now_ms)).toMatchObject({ reinstall_days: 30 })
    await refuses(pool, 'SELECT ciphertext FROM link_secrets')
  })

  test.each(['event-writer', 'click-writer', 'install-writer'] as const)(
    '%s gets times of storing, and a reader seals the present',
    async (service) => {
      const stamps = postgresStamps(poolOf(service))
      const at = { consumer: service, topic: 't', partition: 0 }
      const stamp = await stamps.pin(at, 0)
      expect((await sealRaw(poolOf('report-api'), service)).complete_until_ms).toBe(stamp)
      await stamps.end(at, stamp)
      await stamps.startEpoch()
      await refuses(poolOf('report-api'), 'DELETE FROM raw_stamps')
    },
  )

  test('receipt-validator gets times of storing of verdicts, and a reader seals the present', async () => {
    const { app } = await tenant(db.pool)
    const pool = poolOf('receipt-validator')
    const stamp = await pinVerdicts(pool, app.app_id)
    expect((await sealVerdicts(poolOf('report-api'), app.app_id)).complete_until_ms).toBe(stamp)
    await endVerdicts(pool, app.app_id, stamp)
    await dropAbandonedVerdicts(pool)
    await refuses(poolOf('report-api'), 'DELETE FROM verdict_stamps')
  })

  test.each(readTombstones)('%s finds what was erased, and changes no tombstone', async (service) => {
    const { app } = await tenant(db.pool)
    const gone = { app_id: app.app_id, kind: 'install', id: 'gone', mark_ms: request.now_ms } as const
    const { newest } = await writeTombstones({ pool: db.pool, masterKeys }, [gone])
    const pool = poolOf(service)
    expect(await isMasterKeyRight(pool, masterKeys)).toBe(true)
    const store = openTombstones({ pool, masterKeys })
    expect(await store.newest()).toBe(newest)
    expect((await store.upTo(newest)).markOf(app.app_id, 'gone')).toBe(request.now_ms)
    await refuses(pool, 'INSERT INTO tombstones DEFAULT VALUES', 'DELETE FROM tombstones')
  })

  test('event-writer notes the audit objects of what it dropped', async () => {
    const { app } = await tenant(db.pool)
    const pool = poolOf('event-writer')
    await noteErasedObjects(pool, app.app_id, ['a', 'b'])
    await noteErasedObjects(pool, app.app_id, ['b'])
    const { rows } = await db.pool.query('SELECT audit_key FROM erased_objects WHERE app_id = $1', [app.app_id])
    expect(rows).toHaveLength(2)
    await refuses(pool, 'DELETE FROM erased_objects')
  })

  test.each(['ingest-gateway', 'click-writer'] as const)(
    '%s tells retention of late audit objects, no more',
    async (service) => {
      const { app } = await tenant(db.pool)
      const [pool, retention] = [poolOf(service), poolOf('retention')]
      const noted_before = await beginBlanking(retention, '2026-06-02')
      const late = openLateDays({ pool, elapsed: () => 0, logger })
      for (const day of ['2026-06-01', '2026-06-02']) await late.note([app.app_id], day)
      const own = async () => (await findLateDays(retention)).filter(({ app_id }) => app_id === app.app_id)
      const noted = await own()
      expect(noted).toEqual([{ app_id: app.app_id, day: '2026-06-01' }])
      await refuses(pool, 'DELETE FROM late_days', `UPDATE blanking SET before = '1970-01-01'`)
      await removeLateDays(retention, noted, noted_before)
      expect(await own()).toEqual(noted)
      await removeLateDays(retention, noted, '2100-01-01')
      expect(await own()).toEqual([])
    },
  )

  test('admin-api finds the certificate of an erasure, and what it waits for', async () => {
    const { app } = await tenant(db.pool)
    const pool = poolOf('admin-api')
    const asked = {
      app_id: app.app_id,
      install_uuid: 'gone',
      requested_at_ms: request.now_ms,
      asked_by: 'admin' as const,
    }
    await queueErasures({ pool, masterKeys }, [asked])
    await noteUnreadable(db.pool, app.app_id, new Map([['audit/', 1]]))
    expect(await findCertificate({ pool, masterKeys }, app.app_id, 'gone')).toMatchObject({ state: 'queued' })
    await refuses(pool, 'DELETE FROM unreadable_objects')
  })

  test('admin-api asks the replayer for work, who takes it and knows the apps, and no secret of one', async () => {
    const { app } = await tenant(db.pool)
    const [asking, working] = [poolOf('admin-api'), poolOf('replayer')]
    const number = await askAwaited(asking, 'replay', { source: 'log' }, request.now_ms)
    const work = async ({ asked }: JobInHand) => ({ asked, knows: (await listAppFacts(working)).has(app.app_id) })
    await doAwaited(working, 'replay', { now: () => request.now_ms, stop: new AbortController().signal, work })
    expect(await awaitJob(asking, number!)).toMatchObject({ outcome: { asked: { source: 'log' }, knows: true } })
    await leaveJob(asking, number!, request.now_ms)
    await refuses(asking, 'DELETE FROM jobs', 'SELECT * FROM tombstones')
    await refuses(working, 'INSERT INTO jobs DEFAULT VALUES', 'SELECT signing_secret_ciphertext FROM apps')
    await refuses(working, 'SELECT ciphertext FROM link_secrets', 'SELECT * FROM admin_audit_log')
  })

  const withoutSecrets: readonly PostgresService[] = ['postback-gateway', 'report-api', 'retention', 'settler']
  test.each(services.filter((service) => !withoutSecrets.includes(service)))(
    '%s sees which secrets need another master key',
    async (service) => {
      const { app } = await tenant(db.pool)
      const lost = openMasterKeys([makeKey()])
      await rotateSigningSecret(db.pool, lost, app.app_id, 0, request)
      const found = await findUnreadableSecrets(poolOf(service), masterKeys)
      expect(found.map(({ message }) => message).join()).toContain(app.app_id)
      await rotateSigningSecret(db.pool, masterKeys, app.app_id, 0, request)
    },
  )

  test('report-api finds server keys and rates, without a master key', async () => {
    const { app, key } = await tenant(db.pool)
    await loadFxRates(db.pool, [{ day: '2026-06-01', currency: 'USD', units: '1.08' }], request)
    const pool = poolOf('report-api')
    const credentials = await open(pool)
    onTestFinished(() => credentials.close())
    expect(await credentials.findServerKey(key.key)).toMatchObject({ app_id: app.app_id })
    await expect(credentials.findApp(app.app_key)).rejects.toThrow()
    expect((await pool.query('SELECT * FROM fx_rates')).rowCount).toBeGreaterThan(0)
  })

  test('report-api finds the owners of store ids and their schemas', async () => {
    const { app } = await tenant(db.pool)
    await publishCvSchema(db.pool, app.app_id, [], request)
    const options = { pool: poolOf('report-api'), now: Date.now, logger }
    const [stores, schemas] = [await openStoreApps(options), await openCvSchemas(options)]
    onTestFinished(async () => void (await Promise.all([stores.close(), schemas.close()])))
    const own = await stores.find(app.app_id)
    expect(await stores.findOwner(own!.store_id!)).toEqual(own)
    expect(await schemas.find(app.app_id)).toMatchObject([{ version: 1 }])
  })

  test('report-api knows who is signed in, and notes when and what they look up', async () => {
    const pool = poolOf('report-api')
    expect(await findSession(pool, Buffer.alloc(32), 0)).toBe(null)
    await touchSession(pool, Buffer.alloc(32), Date.now())
    await recordAdminAction(pool, request, { action: 'rows.find', subject: 'app_1', detail: {} })
  })
})

describe('nothing else', () => {
  const tables = async () =>
    (await db.pool.query<{ name: string }>("SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public'")).rows

  test('report-api reads no secret, no password and no audit log, and writes nothing but look-ups and the use of sessions', async () => {
    const pool = poolOf('report-api')
    await refuses(pool, 'SELECT * FROM apps', 'SELECT signing_secret_ciphertext FROM apps')
    await refuses(pool, 'SELECT * FROM master_key_check', 'SELECT * FROM admin_audit_log')
    await refuses(pool, 'SELECT password FROM people', 'SELECT * FROM sessions', 'SELECT * FROM totp_secrets')
    await refuses(pool, 'UPDATE sessions SET complete = true', 'UPDATE memberships SET role = role')
    const every = await tables()
    expect(every.length).toBeGreaterThan(10)
    for (const { name } of every) {
      await refuses(pool, `DELETE FROM ${name}`, `TRUNCATE ${name}`)
      if (name !== 'admin_audit_log') await refuses(pool, `INSERT INTO ${name} DEFAULT VALUES`)
    }
    await refuses(pool, 'UPDATE apps SET platform = platform', "UPDATE companies SET status = 'active'")
  })

  test.each(['link-gateway', ...erasing] as const)(
    '%s reads no signing secret, no server key and no audit log, and changes no link, app or secret',
    async (service) => {
      await refuses(
        poolOf(service),
        'SELECT signing_secret_ciphertext FROM apps',
        'SELECT * FROM old_signing_secrets',
        'SELECT * FROM server_keys',
        'SELECT * FROM admin_audit_log',
        'SELECT company_key FROM companies',
        'UPDATE links SET enabled = true',
        'INSERT INTO links DEFAULT VALUES',
        "UPDATE apps SET bundle_id = ''",
        'UPDATE link_secrets SET key_id = key_id',
        'DELETE FROM link_secrets',
        'UPDATE company_salts SET key_id = key_id',
        'DELETE FROM company_salts',
        'INSERT INTO attribution_settings DEFAULT VALUES',
      )
    },
  )

  test('ingest-gateway reads no link secret and no salt', async () => {
    const pool = poolOf('ingest-gateway')
    await refuses(pool, 'SELECT ciphertext FROM link_secrets', 'SELECT ciphertext FROM company_salts')
  })

  test.each(services)('%s makes no table, role or database, and reads no file', async (service) => {
    await refuses(
      poolOf(service),
      'CREATE TABLE mine (a int)',
      'CREATE TEMPORARY TABLE mine (a int)',
      'CREATE ROLE mine',
      'CREATE DATABASE mine',
      "SELECT pg_read_file('/etc/passwd')",
      `SET ROLE ${roleOf(service === 'admin-api' ? 'report-api' : 'admin-api')}`,
      'DELETE FROM companies',
      'DROP TABLE companies',
      'UPDATE admin_audit_log SET actor = $$nobody$$',
    )
  })

  test('rights that somebody gave besides are taken back, and a password that changed is the only one', async () => {
    const role = roleOf('report-api')
    await db.pool.query(`GRANT INSERT ON fx_rates TO ${role}`)
    await db.pool.query(`GRANT SELECT (signing_secret_ciphertext) ON apps TO ${role}`)
    const before = passwordOf['report-api']
    passwordOf['report-api'] = 'another-one'
    await applyServiceRoles(db.pool, { 'report-api': passwordOf['report-api'] })
    await expect(poolOf('report-api', before).query('SELECT 1')).rejects.toMatchObject({ code: '28P01' })
    const pool = poolOf('report-api')
    await refuses(pool, 'INSERT INTO fx_rates DEFAULT VALUES', 'SELECT signing_secret_ciphertext FROM apps')
  })

  test('without passwords the rights are renewed and the logins stay', async () => {
    await db.pool.query(`REVOKE ALL ON fx_rates FROM ${roleOf('report-api')}`)
    await applyServiceRoles(db.pool, {})
    expect((await poolOf('report-api').query('SELECT 1 FROM fx_rates')).rows).toBeDefined()
  })
})
