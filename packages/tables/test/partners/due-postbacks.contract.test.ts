import { setPartner } from '@tributary/tenancy/companies/partner-settings'
import { createApp, createCompany } from '@tributary/tenancy/companies/tenants'
import { openMasterKeys } from '@tributary/tenancy/secrets/master-keys'
import { openTestPostgres } from '@tributary/testing/engines/test-postgres'
import type { PoolClient } from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { findDueTargets, takeDue } from '../../src/partners/due-postbacks.ts'

const masterKeys = openMasterKeys([{ id: 'test', key: Buffer.alloc(32, 1) }])
const request = { actor: 'test', request_id: 'r', now_ms: 0 }
const due = 20_000

/** Rows of `due_postbacks` that the open transaction has read. */
async function rowsRead(client: PoolClient): Promise<number> {
  const { rows } = await client.query<{ read: number }>(
    `SELECT (seq_tup_read + idx_tup_fetch)::int AS read FROM pg_stat_xact_user_tables WHERE relname = 'due_postbacks'`,
  )
  return rows[0]!.read
}

test('a few of a great many are found and taken by reading a few, though PostgreSQL believes that nothing is due', async () => {
  const db = await openTestPostgres()
  onTestFinished(() => db.close())
  const { pool } = db
  const { company_id } = await createCompany(pool, { name: 'Acme', plan: 'free' }, request)
  const { app_id } = await createApp(pool, masterKeys, { company_id, name: 'Game', platform: 'ios' }, request)
  const settings = { postback_url: 'https://a.example/', method: 'GET', events: ['install'], flagged: 'skip' } as const
  await setPartner({ pool, masterKeys }, { app_id, partner: 'down', ...settings, events: ['install'] }, request)
  // Statistics are of a table that has been emptied.
  await pool.query('ALTER TABLE due_postbacks SET (autovacuum_enabled = off)')
  const addMany = (count: number) =>
    pool.query(
      `INSERT INTO due_postbacks (app_id, install_uuid, event_key, partner, settings_id, event_name, content, dated_at_ms,
         owed_at_ms, give_up_ms, next_try_ms)
       SELECT app_id, gen_random_uuid(), 'install', partner, settings_id, 'install', '{}', 0, 0, 9e15, n
       FROM partner_postbacks, generate_series(1, $1::int) n`,
      [count],
    )
  await addMany(1)
  await pool.query('DELETE FROM due_postbacks')
  await pool.query('ANALYZE due_postbacks')
  await addMany(due)
  const client = await pool.connect()
  onTestFinished(() => client.release())
  await client.query('BEGIN')
  expect(await findDueTargets(client)).toEqual([{ app_id, company_id, partner: 'down' }])
  expect(await takeDue(client, [{ app_id, partner: 'down', max: 16 }])).toHaveLength(16)
  expect(await rowsRead(client)).toBeLessThan(100)
  await client.query('ROLLBACK')
})
