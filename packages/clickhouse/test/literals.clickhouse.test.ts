import { openTestClickhouse, type TestClickhouse } from '@tributary/testing/engines/test-clickhouse'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { keySet, textLiteral, textLiterals } from '../src/literals.ts'

let clickhouse: TestClickhouse
beforeAll(async () => {
  clickhouse = await openTestClickhouse()
})
afterAll(() => clickhouse.close())

/** Texts that mean something else in a statement: ends of literals, escapes, comments, placeholders, ends of statements. */
const hostile = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc
    .array(
      fc.constantFrom(
        "'",
        '\\',
        '\\\\',
        "''",
        '--',
        '/*',
        '*/',
        ';',
        '{a:String}',
        '`',
        '"',
        '\n',
        '\0',
        '\\x27',
        '\\n',
        'ß',
        '😀',
      ),
    )
    .map((parts) => parts.join('')),
)

test('a literal is read as the text that it was made of, whatever that holds', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(hostile, { minLength: 1, maxLength: 40 }), async (texts) => {
      const columns = texts.map((text, n) => `${textLiteral(text)} AS c${n}`)
      const [row] = await clickhouse.query<Record<string, string>>(`SELECT ${columns.join(', ')}`)
      expect(texts.map((_, n) => row![`c${n}`])).toEqual(texts)
      const [found] = await clickhouse.query<{ count: number }>(
        `SELECT countIf(text IN (${textLiterals(texts)})) AS count FROM (SELECT arrayJoin([${texts.map(textLiteral).join(', ')}]) AS text)`,
      )
      expect(found).toEqual({ count: texts.length })
      // A literal within a literal, as tuples of keys stand in a statement.
      const nested = textLiteral(`[${texts.map(textLiteral).join(',')}]`)
      const [array] = await clickhouse.query<{ texts: string[] }>(`SELECT CAST(${nested}, 'Array(String)') AS texts`)
      expect(array).toEqual({ texts })
    }),
    { numRuns: 60 },
  )
})

test('a set of keys holds unsigned numbers and nothing else', async () => {
  const keys = ['0', '18446744073709551615', '9007199254740993']
  const [found] = await clickhouse.query<{ keys: string[] }>(
    `SELECT arrayMap(x -> toString(x), ${keySet(keys)}) AS keys`,
  )
  expect(found).toEqual({ keys })
  for (const text of ['', '-1', '1.5', "1'", '1]', ' 1', '1\n', '１']) expect(() => keySet([text])).toThrow(TypeError)
})
