import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const root = join(import.meta.dirname, '..', '..')
const read = (file: string) => readFileSync(join(root, file), 'utf8')
const rows = [...read('docs/private-interfaces.md').matchAll(/^\| `(\S+)` +\|.*\| `(\S+)` +\|$/gm)]

/** What no library documents: private files and members, flags of V8 set in a running process, memory taken away. */
const isPrivate =
  /kafkajs\/src\/|KafkaJSPartialMessageError|fetchedOffset|_handle\b|_outBuffer|setFlagsFromString|\.transfer\(/

test('every file that relies on a private interface stands in the list, with a test that is there', () => {
  const sources = ['packages', 'services'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .map((file) => `${folder}/${file}`)
      .filter((file) => /\/src\/.*(?<!\.d)\.ts$/.test(file) && !file.includes('node_modules')),
  )
  const found = sources.filter((file) => isPrivate.test(read(file)))
  expect(found.length).toBeGreaterThan(5)
  expect([...new Set(rows.map(([, file]) => file))].toSorted()).toEqual(found.toSorted())
  for (const [, , test] of rows) expect(read(test!)).toMatch(/\b(test|it)(\.each)?\(/)
})
