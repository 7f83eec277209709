import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const root = join(import.meta.dirname, '..', '..', '..')

/** Where a quote before a value is no SQL, and the function that quotes. */
const others: ReadonlySet<string> = new Set([
  'packages/clickhouse/src/literals.ts',
  'packages/clickhouse/src/schema/migration-files.ts', // the name of a cluster, which it checks
  'packages/service-kit/src/http/csv.ts',
  'services/standalone/src/demo.ts', // shell
])

test('one function quotes values in SQL', () => {
  const files = globSync('{packages,services}/*/src/**/*.ts', { cwd: root }).filter((file) => !others.has(file))
  expect(files.length).toBeGreaterThan(300)
  expect(files.filter((file) => /'\$\{/.test(readFileSync(join(root, file), 'utf8')))).toEqual([])
})
