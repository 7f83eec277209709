import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'

const root = join(import.meta.dirname, '..', '..')

const names = /secret|signature|token|password|hmac|digest|server_?key|master_?key|authorization/i
/** Compared with these, nothing of a secret is told but whether there is one. */
const harmless = /^(?:undefined|null|'[^']*'|typeof\b.*)$/
const operand = String.raw`'[^']*'|typeof [\w.]+|[\w.?!]+(?:\([^()]*\))*(?:\.\w+\([^()]*\))*`
const equality = new RegExp(`(${operand}) ?[!=]==? ?(${operand})`, 'g')
const methods = /([\w.?!]+)\.(?:equals|startsWith|endsWith|includes|indexOf|localeCompare)\(([^)]*)/g

/** Comparisons that end at the first difference, of what is named like a secret (docs/security.md "Constant time"). */
const findCompares = (text: string): string[] =>
  text.split('\n').filter((line) => {
    const equal = [...line.matchAll(equality)].some(
      ([, a = '', b = '']) => !harmless.test(a) && !harmless.test(b) && (names.test(a) || names.test(b)),
    )
    return equal || [...line.matchAll(methods)].some(([, on = '', given = '']) => names.test(on) || names.test(given))
  })

const sources = ['packages', 'services'].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => /^[^/]+\/src\/.*\.ts$/.test(file))
    .map((file) => join(root, folder, file)),
)

describe('secrets', () => {
  it('are never compared by what ends at the first difference', () => {
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
  ])('are found where they would be: %s', (line) => expect(findCompares(line)).toHaveLength(1))

  it.each(['if (token === undefined) return', "if (password !== '') x()", "typeof token === 'string'"])(
    'are not seen in: %s',
    (line) => expect(findCompares(line)).toEqual([]),
  )
})
