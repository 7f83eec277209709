import type { RecordedStatement } from '@tributary/clickhouse/schema/statements'

/** The words of a statement without its values: tables, columns, functions, settings. */
export const wordsOf = ({ sql }: Pick<RecordedStatement, 'sql'>): Set<string> =>
  new Set(sql.replaceAll(/'(?:[^'\\]|\\.|'')*'/g, '').match(/[A-Za-z_]\w*/g))

/** Few of a file's statements, short ones first, which have all the words of the others between them. */
export function coveringOf(statements: readonly RecordedStatement[]): RecordedStatement[] {
  const words = new Set<string>()
  return statements
    .toSorted((a, b) => a.sql.length - b.sql.length || (a.sql < b.sql ? -1 : 1))
    .filter((statement) => {
      const own = wordsOf(statement)
      if (own.isSubsetOf(words)) return false
      for (const word of own) words.add(word)
      return true
    })
}
