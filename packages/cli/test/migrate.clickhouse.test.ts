import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { tributary } from './run-tributary.ts'

it('migrates a data folder once, and with --dry-run not at all', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'tributary-migrate-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const migrate = async (...words: string[]) => {
    const run = await tributary(['migrate', ...words, '--json'], { TRIBUTARY_DATA_DIR: folder })
    expect(run).toMatchObject({ code: 0, stderr: '' })
    return JSON.parse(run.stdout)
  }
  const planned = await migrate('--dry-run')
  expect(planned.postgres).toContain('0001_tenants')
  expect(planned.clickhouse).toContain('0001_events_raw')
  expect(await migrate()).toEqual({ ...planned, dry_run: false })
  expect(await migrate('--dry-run')).toEqual({ dry_run: true, postgres: [], clickhouse: [] })
})
