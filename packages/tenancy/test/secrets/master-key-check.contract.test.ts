import { randomBytes } from 'node:crypto'
import { openTestPostgres } from '@tributary/testing/engines/test-postgres'
import { expect, onTestFinished, test } from 'vitest'
import { findNeededMasterKey, forgetMasterKey, isMasterKeyRight } from '../../src/secrets/master-key-check.ts'
import { openMasterKeys, readMasterKey } from '../../src/secrets/master-keys.ts'

const makeKey = () => {
  const key = readMasterKey(randomBytes(32).toString('base64'))
  return { id: key.id, keys: openMasterKeys([key]) }
}

async function database() {
  const db = await openTestPostgres()
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
