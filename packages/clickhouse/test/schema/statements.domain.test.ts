import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { tables } from '@tributary/contracts/tables'
import { expect, it } from 'vitest'
import { readStatements } from '../../src/schema/statements.ts'

const root = join(import.meta.dirname, '..', '..', '..', '..')
const statements = readStatements()

it('records statements of files that there are', () => {
  const senders = new Set(statements.map(({ by }) => by))
  expect([...senders].filter((file) => !existsSync(join(root, file)))).toEqual([])
})

it('records statements about every table', () => {
  const texts = statements.map(({ sql }) => sql)
  const made = Object.keys(tables).filter((table) => table !== 'schema_migrations_v1')
  const unseen = made.filter((table) => !texts.some((sql) => new RegExp(`\\b${table}\\b`).test(sql)))
  expect(unseen).toEqual([])
})
