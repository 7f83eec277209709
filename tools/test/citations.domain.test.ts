import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { limits } from '@tributary/contracts/limits'
import { describe, expect, it } from 'vitest'

const root = join(import.meta.dirname, '..', '..')

const texts = readdirSync(root, { withFileTypes: true })
  .filter(({ name }) => name !== 'node_modules' && !name.startsWith('.'))
  .flatMap((entry) => (entry.isDirectory() ? filesOf(entry.name) : [entry.name]))
  .filter((file) => /\.(ts|mjs|sql|md|json|yml|xml|cfg|sh|py)$|Dockerfile$/.test(file) && !file.endsWith('-lock.json'))
  .filter((file) => file !== 'tools/test/citations.domain.test.ts')
  .map((file) => ({ file, lines: readFileSync(join(root, file), 'utf8').split('\n') }))

function filesOf(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.parentPath.includes('node_modules'))
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1))
}

const decisions = join('docs', 'decisions')

interface Citation {
  /** As it stands in the line. */
  text: string
  /** Path from the folder of the file or from the root; empty for the file itself. */
  path: string
  /** Anchor as in a link. */
  anchor?: string
  /** Heading as in `CONTRIBUTING.md "Tests"`. */
  heading?: string
}

/** A string that is a file name and nothing else is a value of the code, which fails by itself. */
const value = /'[\w./-]+\.md'/g
const document = /([\w./-]*\w\.md)(?!\w)(?:#([\w-]+)|\)? "([^"\n]+)")?/g
const link = /\]\((?!https?:|mailto:)([^\s)#]*)(?:#([\w-]+))?\)/g
/** A decision by the number that it had before the chapters. Migrations keep theirs, since they never change. */
const numbered = /\b(?:docs\/adr\/|ADR )(\d+)(?![\d-])/g
const migration = /^(?:clickhouse|packages\/postgres)\/migrations\//

/** Link of the chapter and heading that a number stands for, as `docs/adr/README.md` says. */
const numbers = new Map(
  [
    ...readFileSync(join(root, 'docs', 'adr', 'README.md'), 'utf8').matchAll(
      /^\| (\d{4}) +\| .*\]\(([^)#]+)#([\w-]+)\)/gm,
    ),
  ].map(([, number, path, anchor]) => [Number(number), { path: join('docs', 'adr', path!), anchor }]),
)

function findCitations(file: string, line: string): Citation[] {
  const links = file.endsWith('.md') ? [...line.matchAll(link)] : []
  const rest = line.replace(file.endsWith('.md') ? link : value, ']')
  return [
    ...links.map(([text, path = '', anchor]) => ({ text, path, anchor })),
    ...[...rest.matchAll(document)].map(([text, path = '', anchor, heading]) => ({ text, path, anchor, heading })),
    ...[...rest.matchAll(numbered)].map(([text, number]) => ({
      text,
      ...((migration.test(file) && numbers.get(Number(number))) || { path: `docs/adr/${number}` }),
    })),
  ]
}

/** The file that a citation leads to, from the folder that cites or from the root. */
function findTarget(file: string, path: string): string | undefined {
  if (path === '') return file
  return [join(dirname(file), path), path].find((candidate) => existsSync(join(root, candidate)))
}

const headingsOf = (file: string): string[] =>
  readFileSync(join(root, file), 'utf8')
    .replace(/^(`{3,}).*?^\1/gms, '')
    .split('\n')
    .flatMap((line) => /^#{1,6} (.*)$/.exec(line)?.[1] ?? [])

/** The anchor that GitHub gives a heading. */
const toAnchor = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-')

function findFault(file: string, { path, anchor, heading }: Citation): string | null {
  const target = findTarget(file, path)
  if (target === undefined) return 'no such file'
  if (anchor !== undefined && !headingsOf(target).map(toAnchor).includes(anchor)) return 'no such heading'
  if (heading !== undefined && !headingsOf(target).includes(heading)) return 'no such heading'
  return null
}

describe('citations', () => {
  it('lead to a file of the repository, and to a heading in it', () => {
    const cited = texts.flatMap(({ file, lines }) =>
      lines.flatMap((line, index) =>
        findCitations(file, line).map((citation) => ({ file, at: `${file}:${index + 1}`, citation })),
      ),
    )
    const faults = cited.flatMap(({ file, at, citation }) => {
      const fault = findFault(file, citation)
      return fault === null ? [] : [`${at} ${citation.text}: ${fault}`]
    })
    expect(cited.length).toBeGreaterThan(200)
    expect(faults).toEqual([])
  })

  it('name constants that exist, where rules name one', () => {
    const rules = readFileSync(join(root, 'docs', 'rules.md'), 'utf8')
    const named = [...rules.matchAll(/`([a-z0-9]+(?:_[a-z0-9]+)*_(?:max|min|ms|default))`/g)].map(([, name]) => name)
    const columns = [
      'event_ts_ms',
      'sent_at_ms',
      'since_ms',
      'until_ms',
      'elapsed_ms',
      'installed_at_ms',
      'latency_ms',
      'decided_at_ms',
      'as_of_ms',
      'uploaded_at_ms',
      'judged_at_ms',
    ]
    expect(named.length).toBeGreaterThan(30)
    expect(named.filter((name) => !(columns.includes(name!) || Object.hasOwn(limits, name!)))).toEqual([])
  })

  it.each([
    ['// see docs/missing.md', 'no such file'],
    ['// see rules.md', 'no such file'],
    ['// see docs/rules.md#no-such-rule', 'no such heading'],
    ['// see docs/decisions/money.md#no-such-decision', 'no such heading'],
    ['// see docs/adr/0101', 'no such file'],
    ['// see ADR 101', 'no such file'],
    ['// see CONTRIBUTING.md "No such heading"', 'no such heading'],
  ])('are found: %s', (line, fault) => {
    const file = 'packages/contracts/src/limits.ts'
    expect(findCitations(file, line).map((citation) => findFault(file, citation))).toEqual([fault])
  })

  it.each([
    ['-- docs/adr/0101', null],
    ['-- docs/adr/9999', 'no such file'],
  ])('by number are left to migrations: %s', (line, fault) => {
    const file = 'clickhouse/migrations/0001_events_raw.sql'
    expect(findCitations(file, line).map((citation) => findFault(file, citation))).toEqual([fault])
  })
})

it('decisions stay in chapters of 26,000 words in all', () => {
  const chapters = readdirSync(join(root, decisions)).map((name) => readFileSync(join(root, decisions, name), 'utf8'))
  const words = chapters.flatMap((text) => text.split(/\s+/).filter((word) => word !== ''))
  expect(chapters).toHaveLength(10)
  expect(words.length).toBeLessThanOrEqual(26_000)
})
