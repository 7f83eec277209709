import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const root = join(import.meta.dirname, '..', '..', '..')

/** Code that runs in the product, without its tests. */
const sources = ['packages', 'services', 'tools']
  .flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((file) => join(folder, file)),
  )
  .filter((file) => file.endsWith('.ts') && !/node_modules|[/\\]test[/\\]/.test(file))
  .map((file) => ({ file, text: readFileSync(join(root, file), 'utf8') }))

/** `name[key] = value`, also with `??=` and the like: the name of what gets the member, and the key. */
const write = /(\w+)!?\[((?:[^[\]\n]|\[[^[\]\n]*\])+)\]!? (?:\?\?|\|\||&&|[-+*/|&^])?= (?!=)/g
/** A key that stands in the code is no foreign text. */
const isFixed = (key: string) => /^(?:\d+|'[^']*')$/.test(key)

/** Keys are names of our own fields, and the object is made for each record: one without a prototype is slower. */
const exempt = new Set(['packages/domain/src/event-row.ts'])

/** Members by computed keys of what begins as an object literal in the same file. */
function foundIn(text: string): string[] {
  const withoutComments = text.replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*/g, '')
  return [...withoutComments.matchAll(write)].flatMap(([match, name, key]) => {
    const begins = new RegExp(`\\b${name}\\b(?:: [^=\\n]+)? ?[=:] \\{(?!.*=>)`)
    const isMade = new RegExp(`\\b${name}\\b(?:: [^=\\n]+)? ?[=:] Object\\.create\\(null\\)`)
    return isFixed(key!) || isMade.test(withoutComments) || !begins.test(withoutComments) ? [] : [match]
  })
}

test('no object literal gets a member by a computed key, which may be foreign text such as __proto__', () => {
  const checked = sources.filter(({ file }) => !exempt.has(file))
  const found = checked.flatMap(({ file, text }) => foundIn(text).map((line) => `${file}: ${line}`))
  expect(found, 'use a Map or Object.create(null)').toEqual([])
})

test('the check sees such members, however they are written', () => {
  for (const text of [
    'const counts: Record<string, number> = {}\ncounts[name] = 1',
    'const tally = { by_name: {} }\ntally.by_name[name] = (tally.by_name[name] ?? 0) + 1',
    'const all = {}\nall[of.install_uuid] ??= []',
    'const all: Readonly<Record<string, string[]>> = { a: [] }\nall[one[0]] = []',
  ])
    expect(foundIn(text), text).toHaveLength(1)
  for (const text of [
    'const counts: Record<string, number> = Object.create(null)\ncounts[name] = 1',
    'const lines: string[] = []\nlines[at + 1] = line',
    'const all = {}\nall[0] = 1',
  ])
    expect(foundIn(text), text).toEqual([])
})
