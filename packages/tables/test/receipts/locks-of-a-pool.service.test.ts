import { openTestPostgres } from '@tributary/testing/engines/test-postgres'
import { expect, onTestFinished, test } from 'vitest'
import { chooseAgain } from '../../src/receipts/choose-money.ts'

test('more apps than a pool has connections choose their money at once, though each needs two connections', async () => {
  const postgres = await openTestPostgres()
  onTestFinished(() => postgres.close())
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
})
