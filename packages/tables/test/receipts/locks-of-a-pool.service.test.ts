import { openTestPostgres } from '@tributary/testing/engines/test-postgres'
import { expect, test } from 'vitest'
import { chooseAgain } from '../../src/receipts/choose-money.ts'

test('apps choose their money at once though each holds a connection and needs another, and there are more apps than connections', async () => {
  const postgres = await openTestPostgres()
  const { pool } = postgres
  let under_lock = 0
  const clickhouse = {
    query: async () => {
      under_lock += 1
      await pool.query('SELECT 1')
      return []
    },
    command: async () => {},
  }
  const deps = { clickhouse, postgres: pool, now: () => 0 }
  const apps = Array.from({ length: pool.options.max * 2 }, (_, n) => `app_${n}`)
  await Promise.all(apps.map((app_id) => chooseAgain(deps, app_id, ['apple/1'], { again: false })))
  expect(under_lock).toBeGreaterThanOrEqual(apps.length)
  await postgres.close()
})
