import { copyFile, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { migrateClickhouse } from '@tributary/clickhouse/schema/migrate'
import { openTestClickhouse, type TestClickhouse } from '@tributary/testing/engines/test-clickhouse'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createSettler } from '../src/settler.ts'
import { liveFigures, settledFigures, writeApp } from './world.ts'

const migrations = join(import.meta.dirname, '../../../clickhouse/migrations')
/** The first migration that knows of settled figures. */
const first_number = 90

let clickhouse: TestClickhouse
let earlier: string
beforeAll(async () => {
  clickhouse = await openTestClickhouse({ migrated: false })
  earlier = await mkdtemp(join(tmpdir(), 'tributary-migrations-'))
  for (const file of await readdir(migrations)) {
    if (Number.parseInt(file, 10) < first_number) await copyFile(join(migrations, file), join(earlier, file))
  }
})
afterAll(async () => {
  await clickhouse.close()
  await rm(earlier, { recursive: true })
})

test('figures of what the version before stored equal those of the same data stored now, before and after settling', async () => {
  await migrateClickhouse({ clickhouse, dir: earlier })
  await writeApp(clickhouse, 'old', ['correction_ms'])
  await migrateClickhouse({ clickhouse })
  await writeApp(clickhouse, 'new')
  const expected = await liveFigures(clickhouse, 'new')
  expect(await liveFigures(clickhouse, 'old')).toEqual(expected)
  await createSettler({ clickhouse, logger: pino({ level: 'silent' }) })({ quiet_ms: 0 })
  for (const app_id of ['old', 'new']) {
    const { figures, settled, cohorts } = await settledFigures(clickhouse, app_id)
    expect(figures).toEqual(expected)
    expect(settled.uniques!.length).toBeGreaterThan(5)
    expect(cohorts.settled.length).toBeGreaterThan(30)
  }
})
