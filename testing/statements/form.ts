import type { RecordedStatement } from '@tributary/clickhouse/schema/statements'

/** The statement without its values, however many there are in a list: statements of one form differ in nothing else. */
export const formOf = ({ kind, sql }: Pick<RecordedStatement, 'kind' | 'sql'>): string =>
  `${kind} ${sql}`
    .replaceAll(/'(?:[^'\\]|\\.|'')*'/g, '?')
    .replaceAll(/\b\d+(\.\d+)?\b/g, '?')
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/\(\?(, ?\?)*\)/g, '(?)')
    .replaceAll(/\(\?\)(, ?\(\?\))+/g, '(?)')
    .replaceAll(/\?(, ?\?)+/g, '?')
