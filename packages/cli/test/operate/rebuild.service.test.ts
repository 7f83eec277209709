import { expect, it } from 'vitest'
import { tributary } from '../run-tributary.ts'

it('a standalone learns how to come back from its audit folder', async () => {
  const run = await tributary(['rebuild', '--from-audit'])
  expect(run.code).toBe(1)
  expect(run.stderr).toContain('remove the folder clickhouse of its data folder, start it')
  expect(run.stderr).toContain('npx tributary replay --from-audit')
})

it('names the settings that a rebuild from the audit store lacks', async () => {
  const run = await tributary(['rebuild', '--from-audit', '--dry-run'], {
    TRIBUTARY_CLICKHOUSE_URL: 'http://127.0.0.1:9',
  })
  expect(run.code).toBe(1)
  for (const name of ['KAFKA_BROKERS', 'POSTGRES_URL', 'S3_BUCKET', 'MASTER_KEY'])
    expect(run.stderr).toContain(`TRIBUTARY_${name}`)
})
