/** A text as a literal of SQL. For values of our own tables: those of requests are parameters. */
export const textLiteral = (value: string): string => `'${value.replaceAll(/[\\']/g, '\\$&')}'`
