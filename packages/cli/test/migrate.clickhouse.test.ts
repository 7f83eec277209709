import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openEmbeddedClickhouse } from '@tributary/clickhouse/embedded'
import { expect, it, onTestFinished } from 'vitest'
import { startTributary } from './run-tributary.ts'

it('migrates a data folder once, and with --dry-run not at all', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'tributary-migrate-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const migrate = async (...words: string[]) => {
    const run = await startTributary(['migrate', ...words, '--json'], { TRIBUTARY_DATA_DIR: folder }).ended
    expect(run).toMatchObject({ code: 0, stderr: '' })
    return JSON.parse(run.stdout)
  }
  const planned = await migrate('--dry-run')
  expect(planned.postgres).toContain('0001_tenants')
  expect(planned.clickhouse).toContain('0001_events_raw')
  expect(await migrate()).toEqual({ ...planned, dry_run: false })
  expect(await migrate('--dry-run')).toEqual({ dry_run: true, postgres: [], clickhouse: [] })
})

it('changes neither engine when one of them refuses this version', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'tributary-migrate-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const inClickhouse = async (sql: string) => {
    const clickhouse = await openEmbeddedClickhouse({ data_dir: join(folder, 'clickhouse') })
    await clickhouse.command(sql)
    await clickhouse.close()
  }
  const env = { TRIBUTARY_DATA_DIR: folder }
  expect((await startTributary(['migrate'], env).ended).code).toBe(0)
  await rm(join(folder, 'postgres'), { recursive: true })
  await inClickhouse(`INSERT INTO schema_migrations_v1 VALUES (1, '0001_events_raw', 'of another version')`)
  const refused = await startTributary(['migrate'], env).ended
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('before the baseline') })
  await inClickhouse(
    `ALTER TABLE schema_migrations_v1 DELETE WHERE checksum = 'of another version' SETTINGS mutations_sync = 1`,
  )
  const left = await startTributary(['migrate', '--dry-run', '--json'], env).ended
  expect(JSON.parse(left.stdout).postgres).toContain('0001_tenants')
})
