import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isSafe } from 'redos-detector'
import { expect, it, test } from 'vitest'

const root = join(import.meta.dirname, '..', '..', '..')

/** Code that reads addresses, headers and user agents of strangers. */
const folders = [
  'packages/domain/src/link',
  'packages/gateway/src',
  'packages/service-kit/src/http',
  'services/link-gateway/src',
]

/** Ways to match one text that an expression may have. A quadratic one has as many as the text has characters. */
const ways_max = 20
const search_ms_max = 20_000

const isLinear = (expression: RegExp): boolean =>
  isSafe(expression, { maxScore: ways_max, timeout: search_ms_max }).safe

const literal =
  /(?<=[\s(=,:[!&|?])\/(?![*/])((?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n[])+)\/([dgimsuvy]*)(?=[\s.,;)\]:}])/g

/** The expressions of a source file, its comments left out. */
function expressionsOf(file: string): [where: string, expression: RegExp][] {
  const code = readFileSync(join(root, file), 'utf8').replaceAll(/^\s*(?:\/\/|\/?\*).*$/gm, '')
  return Array.from(code.matchAll(literal), ([text, source = '', flags]) => [
    `${file}: ${text}`,
    new RegExp(source, flags),
  ])
}

const expressions = folders.flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .flatMap((file) => expressionsOf(join(folder, file))),
)

it('finds the expressions', () => expect(expressions.length).toBeGreaterThan(15))

test.each(expressions)('%s takes time in proportion to the text', (_where, expression) => {
  expect(isLinear(expression)).toBe(true)
})

test.each([/\s*Build\/.*$/, /[.:\s]+$/, /^(?:a+)+$/])('%s would be noticed', (expression) => {
  expect(isLinear(expression)).toBe(false)
})
