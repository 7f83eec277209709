import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { errorCatalogue, rejectReasons } from '../src/errors.ts'

const root = join(import.meta.dirname, '..', '..', '..')
const specFile = join(root, '..', 'shared', 'spec', 'interface.md')
const documented = readFileSync(join(root, 'docs', 'errors.md'), 'utf8')
const documentedItems = documented.slice(documented.indexOf('## Items of a batch'))

describe('docs/errors.md', () => {
  test('has exactly the catalogue: code, status, surfaces', () => {
    const rows = [...documented.matchAll(/^\| `(\w+)` +\| (\d+) +\| ([\w, ]+?) +\|/gm)].map(
      ([, code, status, surfaces]) => ({
        code,
        status: Number(status),
        surfaces: surfaces?.split(', '),
      }),
    )
    expect(rows).toEqual(errorCatalogue.map((entry) => ({ ...entry, surfaces: [...entry.surfaces] })))
  })

  test('has exactly the reasons of rejected items', () => {
    const reasons = [...documentedItems.matchAll(/^\| `(\w+)` +\|/gm)].map(([, reason]) => reason)
    expect(reasons).toEqual([...rejectReasons])
  })
})

test('no code is listed twice', () => {
  expect(new Set(errorCatalogue.map(({ code }) => code)).size).toBe(errorCatalogue.length)
})

if (!existsSync(specFile))
  console.warn('skipped: the interface specification is not beside the checkout; docs/errors.md holds its copy')
describe.skipIf(!existsSync(specFile))('the interface specification', () => {
  const spec = existsSync(specFile) ? readFileSync(specFile, 'utf8') : ''
  const section = (title: string) => spec.slice(spec.indexOf(title)).split(/\n#{2,3} /, 2)[0] ?? ''
  const codesIn = (cell: string) => [...cell.matchAll(/`(\w+)`/g)].map(([, code]) => code)
  /** `| 400 | codes |` tables and the `| 400 | code | cause |` table alike. */
  const specified = (
    [
      ['sdk', '### POST /event\n\n| Status'],
      ['s2s', '### S2S endpoints'],
      ['reports', '### Reporting\n'],
    ] as const
  ).flatMap(([surface, title]) =>
    [...section(title).matchAll(/^\| (\d{3}) \| ([^|]+)\|/gm)].flatMap(([, status, cell]) =>
      codesIn(cell ?? '').map((code) => ({ surface, status: Number(status), code })),
    ),
  )

  test('every code of its error tables is in the catalogue with its status and surface', () => {
    expect(specified.length).toBeGreaterThanOrEqual(30)
    for (const { code, status, surface } of specified) {
      const entry = errorCatalogue.find((candidate) => candidate.code === code)
      expect(entry, code).toMatchObject({ status })
      expect([...(entry?.surfaces ?? []), 'any'].includes(surface) || entry?.surfaces[0] === 'any', code).toBe(true)
    }
  })

  /** Codes of causes that no contract knows. */
  const later = new Set<string>(['uri_too_long'])

  test('every code beyond its tables is one that its decisions add, or of the admin surface', () => {
    const pages = ['decisions.md', 'performance.md'].map((page) => readFileSync(join(specFile, '..', page), 'utf8'))
    const decisions = pages.join('\n')
    const known = new Set(specified.map(({ code }) => code))
    for (const { code, surfaces } of errorCatalogue) {
      const adminOnly = (surfaces as readonly string[]).join() === 'admin'
      const added = new RegExp(`\`(\\d{3} )?${code}\``).test(decisions)
      expect(known.has(code) || added || adminOnly || later.has(code), code).toBe(true)
    }
  })
})
