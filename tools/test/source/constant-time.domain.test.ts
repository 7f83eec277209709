import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'

const root = join(import.meta.dirname, '..', '..', '..')

const names = /secret|signature|token|password|hmac|digest|server_?key|master_?key|authorization/i
/** A comparison with one of these reveals only whether a secret exists. */
const harmless = /^(?:undefined|null|'[^']*'|typeof\b.*)$/
const operand = String.raw`'[^']*'|typeof [\w.]+|[\w.?!]+(?:\([^()]*\))*(?:\.\w+\([^()]*\))*`
const equality = new RegExp(`(${operand}) ?[!=]==? ?(${operand})`, 'g')
const methods = /([\w.?!]+)\.(?:equals|startsWith|endsWith|includes|indexOf|localeCompare)\(([^)]*)/g

/** Lines that compare a value with the name of a secret in variable time (docs/security.md "Constant time"). */
const findCompares = (text: string): string[] =>
  text.split('\n').filter((line) => {
    const equal = [...line.matchAll(equality)].some(
      ([, a = '', b = '']) => !harmless.test(a) && !harmless.test(b) && (names.test(a) || names.test(b)),
    )
    return equal || [...line.matchAll(methods)].some(([, on = '', given = '']) => names.test(on) || names.test(given))
  })

const sources = ['packages', 'services'].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => /^[^/]+(\/[^/]+)?\/src\/.*\.ts$/.test(file) && !file.includes('node_modules'))
    .map((file) => join(root, folder, file)),
)

describe('secrets', () => {
  it('are never compared in variable time', () => {
    const found = sources.flatMap((file) =>
      findCompares(readFileSync(file, 'utf8')).map((line) => `${file.slice(root.length + 1)}: ${line.trim()}`),
    )
    expect(sources.length).toBeGreaterThan(100)
    expect(found).toEqual([])
  })

  it.each([
    'if (signature === expected) return true',
    'return given !== app.signing_secret',
    'if (headers.authorization == token) pass()',
    'createHmac(a, b).digest(hex) === given',
    'return signature.equals(given)',
    'known.server_key.startsWith(prefix)',
    'a === hmac(body)',
  ])('are found in: %s', (line) => expect(findCompares(line)).toHaveLength(1))

  it.each(['if (token === undefined) return', "if (password !== '') x()", "typeof token === 'string'"])(
    'are not found in: %s',
    (line) => expect(findCompares(line)).toEqual([]),
  )
})
