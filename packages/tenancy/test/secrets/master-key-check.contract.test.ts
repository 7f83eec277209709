import { randomBytes } from 'node:crypto'
import { cp, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { migratePostgres } from '@tributary/postgres/migrate'
import { openTestPostgres } from '@tributary/testing/engines/test-postgres'
import { expect, onTestFinished, test } from 'vitest'
import { createApp, createCompany } from '../../src/companies/tenants.ts'
import { findNeededMasterKey, forgetMasterKey, isMasterKeyRight } from '../../src/secrets/master-key-check.ts'
import { openMasterKeys, readMasterKey } from '../../src/secrets/master-keys.ts'
import { firstFormatKeys } from './first-format.ts'

const makeKey = () => {
  const key = readMasterKey(randomBytes(32).toString('base64'))
  return { id: key.id, keys: openMasterKeys([key]), firstFormat: firstFormatKeys(key) }
}

async function database(options?: { migrated: boolean }) {
  const db = await openTestPostgres(options)
  onTestFinished(() => db.close())
  return db.pool
}

test('the first master key is right from then on, another one is wrong, also while no secret was stored', async () => {
  const [pool, first, other] = [await database(), makeKey(), makeKey()]
  expect(await findNeededMasterKey(pool)).toBeNull()
  expect(await isMasterKeyRight(pool, first.keys)).toBe(true)
  expect(await findNeededMasterKey(pool)).toBe(first.id)
  expect(await isMasterKeyRight(pool, other.keys)).toBe(false)
  expect(await isMasterKeyRight(pool, first.keys)).toBe(true)
})

test('of processes that begin at once with keys of their own one is right and all others are wrong', async () => {
  const pool = await database()
  const asked = Array.from({ length: 5 }, () => isMasterKeyRight(pool, makeKey().keys))
  expect((await Promise.all(asked)).filter(Boolean)).toHaveLength(1)
})

test('once the key is forgotten the next one is right, and the audit log says so', async () => {
  const [pool, lost, next] = [await database(), makeKey(), makeKey()]
  const request = { actor: 'test', request_id: 'r', now_ms: 1_700_000_000_000 }
  expect(await forgetMasterKey(pool, request)).toBeNull()
  await isMasterKeyRight(pool, lost.keys)
  expect(await forgetMasterKey(pool, request)).toBe(lost.id)
  expect(await isMasterKeyRight(pool, next.keys)).toBe(true)
  expect(await isMasterKeyRight(pool, lost.keys)).toBe(false)
  const { rows } = await pool.query('SELECT actor, action, subject FROM admin_audit_log')
  expect(rows).toEqual([{ actor: 'test', action: 'master_key.forget', subject: lost.id }])
})

test('another key of the same id is wrong', async () => {
  const pool = await database()
  const keys = [1, 2].map((byte) => openMasterKeys([{ id: 'same', key: Buffer.alloc(32, byte) }]))
  expect(await isMasterKeyRight(pool, keys[0]!)).toBe(true)
  expect(await isMasterKeyRight(pool, keys[1]!)).toBe(false)
})

test('with secrets of an older version the key that made the newest one is right', async () => {
  const pool = await database({ migrated: false })
  const dir = await mkdtemp(join(tmpdir(), 'tributary-migrations-'))
  onTestFinished(() => rm(dir, { recursive: true, force: true }))
  await cp(join(import.meta.dirname, '..', '..', '..', 'postgres', 'migrations'), dir, { recursive: true })
  for (const file of await readdir(dir)) if (file >= '0003') await rm(join(dir, file))
  await migratePostgres({ pool, dir })
  const [first, second] = [makeKey(), makeKey()]
  const request = { actor: 'test', request_id: 'r', now_ms: 1_700_000_000_000 }
  const { company_id } = await createCompany(pool, { name: 'Acme', plan: 'free' }, request)
  for (const [step, { firstFormat }] of [first, second].entries()) {
    const at = { ...request, now_ms: request.now_ms + step }
    await createApp(pool, firstFormat, { company_id, name: 'Game', platform: 'ios' }, at)
  }
  await migratePostgres({ pool })
  expect(await isMasterKeyRight(pool, first.keys)).toBe(false)
  expect(await isMasterKeyRight(pool, second.keys)).toBe(true)
})
