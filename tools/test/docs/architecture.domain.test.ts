import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { consumers } from '@tributary/contracts/consumers'
import { tableNames } from '@tributary/contracts/tables'
import { topics } from '@tributary/contracts/topics'
import { expect, it } from 'vitest'

const root = join(import.meta.dirname, '..', '..', '..')
const page = readFileSync(join(root, 'docs', 'architecture.md'), 'utf8')
const found = (pattern: RegExp) => [...new Set([...page.matchAll(pattern)].map(([, name]) => name!))].sort()
const folders = (path: string) =>
  readdirSync(join(root, path), { withFileTypes: true }).flatMap((entry) => (entry.isDirectory() ? entry.name : []))

it('the page of the architecture names paths that exist', () => {
  const paths = found(/`((?:services|packages|tools|testing|infra|clickhouse|bench|docs)(?:\/[\w./-]+)?)`/g)
  expect(paths.length).toBeGreaterThan(40)
  expect(paths.filter((path) => !existsSync(join(root, path)))).toEqual([])
})

it('the page of the architecture names all packages, services, consumers and topics, and no others', () => {
  expect(found(/`packages\/([\w-]+)`/g)).toEqual(folders('packages').sort())
  for (const name of [...folders('services'), ...Object.values(consumers).map((one) => one.name)])
    expect(page).toMatch(new RegExp(`\\b${name}\\b`))
  expect(found(/\b([a-z]+\.[a-z]+\.v\d+)\b/g)).toEqual(
    Object.values(topics)
      .map(({ name }) => name)
      .sort(),
  )
})

it('the page of the architecture names tables that exist', () => {
  const named = found(/`(\w+_v\d+)`/g)
  expect(named.length).toBeGreaterThan(15)
  expect(named.filter((name) => !(tableNames as string[]).includes(name))).toEqual([])
})
