import { randomBytes } from 'node:crypto'
import { openTestPostgres } from '@tributary/testing/engines/test-postgres'
import { Secret, TOTP } from 'otpauth'
import type { Pool } from 'pg'
import { pino } from 'pino'
import { expect, onTestFinished, test } from 'vitest'
import { openAppsWithSecrets } from '../../src/attribution/attribution-apps-cache.ts'
import { rotateSigningSecret } from '../../src/companies/apps.ts'
import { createApp, createCompany } from '../../src/companies/tenants.ts'
import { openCredentials } from '../../src/credentials/credentials-cache.ts'
import { confirmTotp, offerTotp } from '../../src/people/second-factor/second-factor.ts'
import { isMasterKeyRight } from '../../src/secrets/master-key-check.ts'
import { type MasterKey, openMasterKeys, readMasterKey } from '../../src/secrets/master-keys.ts'
import { rotateMasterKey } from '../../src/secrets/rotate-master-key.ts'
import { secretTables } from '../../src/secrets/secret-tables.ts'

const request = { actor: 'test', request_id: 'r', now_ms: 1_700_000_000_000 }
const makeKey = () => readMasterKey(randomBytes(32).toString('base64'))
const keysOf = (...keys: MasterKey[]) => openMasterKeys(keys)

/** A database whose first master key is `before`, with apps of one company. */
async function world({ apps: count = 3 } = {}) {
  const db = await openTestPostgres()
  onTestFinished(() => db.close())
  const [before, next] = [makeKey(), makeKey()]
  await isMasterKeyRight(db.pool, keysOf(before))
  const { company_id } = await createCompany(db.pool, { name: 'Acme', plan: 'free' }, request)
  const make = (key: MasterKey) =>
    createApp(db.pool, keysOf(key), { company_id, name: 'Game', platform: 'ios' }, request)
  const apps = await Promise.all(Array.from({ length: count }, () => make(before)))
  const right = (...keys: MasterKey[]) => isMasterKeyRight(db.pool, keysOf(...keys))
  const rotate = (pool: Pool = db.pool) => rotateMasterKey(pool, keysOf(next, before), request)

  /** How many apps a process with these keys reads rightly. */
  async function readable(...keys: MasterKey[]) {
    const options = { pool: db.pool, masterKeys: keysOf(...keys), now: Date.now, logger: pino({ level: 'silent' }) }
    const credentials = await openCredentials(options)
    const found = await Promise.allSettled(apps.map(({ app_key }) => credentials.findApp(app_key)))
    await credentials.close()
    return found.filter((one, n) => one.status === 'fulfilled' && one.value?.signing_secret === apps[n]?.signing_secret)
      .length
  }
  return { pool: db.pool, before, next, apps, make, right, rotate, readable }
}

test('after the rotation the new key alone is enough, and the old one alone is refused', async () => {
  const { before, next, right, rotate, readable, pool } = await world()
  expect(await right(next)).toBe(false)
  expect(await right(next, before)).toBe(true)
  expect(await rotate()).toEqual({ key_id: next.id, rotated: 3, unreadable: 0 })
  expect([await right(next), await right(before)]).toEqual([true, false])
  expect([await readable(next), await readable(before)]).toEqual([3, 0])
  const { rows } = await pool.query(
    "SELECT action, subject, detail FROM admin_audit_log WHERE action LIKE 'master_key%'",
  )
  expect(rows).toEqual([{ action: 'master_key.rotate', subject: next.id, detail: { rotated: 3, unreadable: 0 } }])
})

test('a second rotation to the same key changes nothing', async () => {
  const { pool, next, rotate } = await world()
  await rotate()
  const secrets = async () => (await pool.query('SELECT * FROM apps ORDER BY app_id')).rows
  const kept = await secrets()
  expect(await rotate()).toEqual({ key_id: next.id, rotated: 0, unreadable: 0 })
  expect(await secrets()).toEqual(kept)
})

test('a rotation that was killed in the middle leaves every app readable with both keys, and the next one ends it', async () => {
  const { pool, before, next, right, rotate, readable, apps } = await world({ apps: 250 })
  let left = 1
  const dying = Object.assign(Object.create(pool) as Pool, {
    connect: () => (left-- > 0 ? pool.connect() : Promise.reject(new Error('killed'))),
  })
  await expect(rotate(dying)).rejects.toThrow('killed')
  expect(await readable(next, before)).toBe(apps.length)
  const done = await readable(next)
  expect([done > 0, done < apps.length]).toEqual([true, true])
  expect(await right(next)).toBe(false) // it would answer 503 for the rest
  expect(await rotate()).toMatchObject({ rotated: apps.length - done, unreadable: 0 })
  expect([await right(next), await readable(next)]).toEqual([true, apps.length])
})

test('two rotations at once, and an app made meanwhile with the key before, leave nothing of the old key', async () => {
  const { before, next, make, rotate, readable, apps } = await world({ apps: 20 })
  const [one, two, late] = await Promise.all([rotate(), rotate(), make(before)])
  apps.push(late)
  await rotate()
  expect(one.rotated + two.rotated).toBeGreaterThanOrEqual(20)
  expect(await readable(next)).toBe(21)
})

test('an app made with the key before, while a pass has left its table behind, is rotated too', async () => {
  const { pool, before, make, rotate, readable, next, apps } = await world()
  let transactions = 0
  const watched = Object.assign(Object.create(pool) as Pool, {
    async connect() {
      transactions += 1
      if (transactions === 3) apps.push(await make(before)) // 1. the apps, 2. no more of them, 3. old secrets
      return pool.connect()
    },
  })
  expect(await rotate(watched)).toMatchObject({ rotated: 4, unreadable: 0 })
  expect(await readable(next)).toBe(4)
})

test('old secrets in their overlap are rotated with the present ones', async () => {
  const { pool, before, next, apps, rotate } = await world({ apps: 1 })
  const [{ app_id, app_key, signing_secret }] = apps as [(typeof apps)[number]]
  await rotateSigningSecret(pool, keysOf(before), app_id, 1, { ...request, now_ms: Date.now() })
  expect(await rotate()).toMatchObject({ rotated: 2, unreadable: 0 })
  const options = { pool, masterKeys: keysOf(next), now: Date.now, logger: pino({ level: 'silent' }) }
  const credentials = await openCredentials(options)
  onTestFinished(() => credentials.close())
  const found = await credentials.findApp(app_key)
  expect(found?.old_secrets.map((old) => old.signing_secret)).toEqual([signing_secret])
})

test('link secrets and salts stay what they are', async () => {
  const { pool, before, next, apps, rotate } = await world({ apps: 2 })
  async function secretsOf(...keys: MasterKey[]) {
    const options = { pool, masterKeys: keysOf(...keys), now: Date.now, logger: pino({ level: 'silent' }) }
    const attribution = await openAppsWithSecrets(options)
    const found = await Promise.all(apps.map(({ app_id }) => attribution.find(app_id)))
    await attribution.close()
    return found.map((app) => [app?.link_secret.toString('hex'), app?.salt.toString('hex')])
  }
  const made = await secretsOf(before)
  expect(await rotate()).toMatchObject({ rotated: 5, unreadable: 0 }) // two apps, two link secrets, one salt
  expect(await secretsOf(next)).toEqual(made)
  await expect(secretsOf(before)).rejects.toMatchObject({ code: 'unavailable' })
})

test('a secret of a key that is lost for good is left as it is, and counted', async () => {
  const { make, rotate, readable, next, apps } = await world()
  const lost = makeKey()
  apps.push(await make(lost))
  expect(await rotate()).toMatchObject({ rotated: 3, unreadable: 1 })
  expect([await readable(next), await readable(lost)]).toEqual([3, 1])
})

test('the second factor of a person stays what it is, and belongs to no other person', async () => {
  const { pool, before, next, rotate } = await world({ apps: 0 })
  const people = ['per_1', 'per_2']
  for (const person_id of people) await pool.query(`INSERT INTO people VALUES ($1, $1, $1, '', now())`, [person_id])
  const secret = await offerTotp(pool, keysOf(before), 'per_1')
  expect(await rotate()).toMatchObject({ rotated: 1, unreadable: 0 })
  const now_ms = 1_700_000_000_000
  const code = new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: now_ms })
  await pool.query(`INSERT INTO totp_offers SELECT 'per_2', key_id, iv, ciphertext, tag, last_step FROM totp_offers`)
  const confirm = (person_id: string) => confirmTotp(pool, keysOf(next), { person_id, code, now_ms })
  await expect(confirm('per_2')).rejects.toMatchObject({ code: 'unavailable' })
  expect(await confirm('per_1')).toHaveLength(10)
})

test('every table that holds something encrypted is rotated', async () => {
  const { pool } = await world({ apps: 0 })
  const { rows } = await pool.query<{ binding: string }>(
    `SELECT table_name || '.' || column_name AS binding FROM information_schema.columns
     WHERE table_schema = 'public' AND column_name LIKE '%ciphertext' AND table_name <> 'master_key_check'`,
  )
  expect(rows.map(({ binding }) => binding).toSorted()).toEqual(
    secretTables.map(({ table, prefix }) => `${table}.${prefix}ciphertext`).toSorted(),
  )
})
