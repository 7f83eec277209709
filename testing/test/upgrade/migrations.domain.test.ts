import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { onlyAdds } from '@tributary/service-kit/resources/only-adds'
import { describe, expect, it } from 'vitest'
import { takesAway } from '../../upgrade/takes-away.ts'
import { versionBefore } from '../../upgrade/version-before.ts'

const root = join(import.meta.dirname, '..', '..', '..')
const before = versionBefore()
/** Statements that were looked at: each leaves what the version before does, and why. */
const judged = new Map([
  [
    `CREATE UNIQUE INDEX jobs_one_reconcile ON jobs (kind) WHERE ended_at_ms IS NULL AND kind = ''`,
    'a kind of jobs that the version before does not make',
  ],
])

describe.each([
  ['clickhouse/migrations', before.clickhouse],
  ['packages/postgres/migrations', before.postgres],
])('%s', (folder, newest) => {
  const files = readdirSync(join(root, folder)).toSorted()
  const newer = files.filter((file) => Number(file.slice(0, 4)) > newest)

  it('a migration that is newer than the version before leaves what it uses, or says in its name that it drops', () => {
    expect(files.some((file) => Number(file.slice(0, 4)) === newest)).toBe(true)
    const texts = newer.filter(onlyAdds).map((file) => readFileSync(join(root, folder, file), 'utf8'))
    expect(takesAway(texts).filter((statement) => !judged.has(statement))).toEqual([])
  })
})

describe('a statement that may take something from the version before', () => {
  it.each([
    'DROP TABLE apps',
    'ALTER TABLE apps DROP COLUMN name',
    'ALTER TABLE apps RENAME COLUMN name TO title',
    'ALTER TABLE apps ADD COLUMN a text, DROP COLUMN b',
    'ALTER TABLE apps ADD COLUMN a text NOT NULL',
    'ALTER TABLE apps ALTER COLUMN name SET NOT NULL',
    'ALTER TABLE apps ADD CONSTRAINT short CHECK (length(name) < 10)',
    'CREATE UNIQUE INDEX one_name ON apps (name)',
    'CREATE TABLE more (); DROP INDEX apps_by_name',
    'ALTER TABLE events_raw_v1 {{on_cluster}} MODIFY COLUMN ip UInt32',
    'ALTER TABLE events_raw_v1 {{on_cluster}} MODIFY SETTING non_replicated_deduplication_window = 0',
    'ALTER TABLE events_raw_v1 {{on_cluster}} MODIFY SETTING merge_selector_base = 10, fsync_after_insert = 0',
    'DROP VIEW IF EXISTS money_mv_v1 {{on_cluster}}',
    'UPDATE apps SET name = NULL',
    'REVOKE SELECT ON apps FROM tributary_settler',
    `-- an app's rows\nDROP TABLE apps; -- they aren't read`,
    `COMMENT ON TABLE apps IS 'it''s -- here'; DROP TABLE apps`,
  ])('%s', (text) => {
    expect(takesAway([text])).toHaveLength(1)
  })

  it.each([
    'CREATE TABLE more (a text NOT NULL); CREATE INDEX more_by_a ON more (a); ALTER TABLE more DROP COLUMN a; DROP INDEX more_by_a',
    'CREATE TABLE more (a text); CREATE UNIQUE INDEX more_once ON more (a)',
    `ALTER TABLE apps ADD COLUMN a text CHECK (a <> '' AND a <> ','), ADD COLUMN b boolean NOT NULL DEFAULT false`,
    `ALTER TABLE events_raw_v1 {{on_cluster}}\n  ADD COLUMN IF NOT EXISTS a String DEFAULT '' COMMENT 'one; two' CODEC(ZSTD(1)),\n  ADD INDEX IF NOT EXISTS of_a a TYPE minmax`,
    'ALTER TABLE events_raw_v1 {{on_cluster}} MODIFY SETTING merge_selector_base = 10',
    'CREATE MATERIALIZED VIEW IF NOT EXISTS more_mv_v1 {{on_cluster}} TO more_v1 AS SELECT 1',
    `-- DROP TABLE apps\nCOMMENT ON TABLE apps IS 'DROP it; soon'`,
  ])('is not: %s', (text) => {
    expect(takesAway([text])).toEqual([])
  })
})
