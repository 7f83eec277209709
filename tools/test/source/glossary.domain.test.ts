import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const root = join(import.meta.dirname, '..', '..', '..')

/** Words of docs/glossary.md that say too many things, in code, comments and documents. */
const banned = /\b(?:un)?told\b|\bmend(?:s|ed|ing)?\b|\bwish(?:es)?\b|\bin_hand\b|\binHand\b/i
/** Names of values and functions that say nothing of what they hold or do. */
const bannedNames =
  /\b(?:const|let|function) (?:\{[^}]*\b(?:has|works|turns|tells?)(?:,[^}]*)? \} = |(?:has|works|turns|tells?)\b(?: = |\())/

/** Where a banned word stays: landed migrations are never edited, and this page is dumped from their comments. */
const others: ReadonlySet<string> = new Set([
  'docs/data.md',
  'docs/glossary.md',
  // The recorded history has an install of that name.
  'testing/saved/make/identity.ts',
])

const wordsOf = (text: string): string[] =>
  text.split('\n').filter((line) => banned.test(line) || bannedNames.test(line))

test('source and documents use no word that the glossary bans', () => {
  const files = globSync(
    [
      '{packages,services}/*/src/**/*.ts',
      'services/*/*/src/**/*.ts',
      '{testing,bench}/**/*.ts',
      'tools/*.ts',
      'docs/*.md',
      'docs/decisions/*.md',
    ],
    { cwd: root },
  ).filter((file) => !others.has(file))
  const found = files.flatMap((file) =>
    wordsOf(readFileSync(join(root, file), 'utf8')).map((line) => `${file}: ${line.trim()}`),
  )
  expect(files.length).toBeGreaterThan(400)
  expect(found).toEqual([])
})

test.each([
  '// What was told before',
  'const has = 1',
  'const { name, has } = seen',
  'function tell() {}',
  '/** Mended by the next start. */',
])('a banned word is found in: %s', (line) => expect(wordsOf(line)).toEqual([line]))

test.each(['if (seen.has(name)) return', 'the engine that it recommends', 'let works_at_ms = 0'])(
  'nothing is found in: %s',
  (line) => expect(wordsOf(line)).toEqual([]),
)
