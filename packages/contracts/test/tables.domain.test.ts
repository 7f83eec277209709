import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Table, TableUser } from '@tributary/contracts/table'
import { type TableName, tableNames, tables } from '@tributary/contracts/tables'
import { expect, test } from 'vitest'

const services = join(import.meta.dirname, '../../../services')

/** Tables that the code of a service names, outside of comments. */
async function namedBy(service: string): Promise<TableName[]> {
  const files = await readdir(join(services, service, 'src'), { recursive: true, withFileTypes: true })
  const texts = await Promise.all(
    files.filter((file) => file.isFile()).map((file) => readFile(join(file.parentPath, file.name), 'utf8')),
  )
  const code = texts.join('\n').replaceAll(/\/\*[\s\S]*?\*\//g, '')
  const named: string[] = code.replaceAll(/\/\/.*$/gm, '').match(/\b[a-z_]+_v\d+\b/g) ?? []
  return tableNames.filter((name) => named.includes(name))
}

test.each<TableUser>(['event-writer', 'postback-writer', 'report-api', 'admin-api'])(
  '%s is declared for every table that its statements name',
  async (user) => {
    const named = await namedBy(user)
    expect(named).not.toEqual([])
    const undeclared = named.filter((name) => {
      const { readers, writers }: Table = tables[name]
      return !readers.includes(user) && !writers.includes(user)
    })
    expect(undeclared).toEqual([])
  },
)
