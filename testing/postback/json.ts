/** A value of a postback. A bigint is written as a number, digit by digit. */
export type JsonValue = string | number | bigint | boolean | null | JsonValue[] | { [name: string]: JsonValue }

export type Fields = Readonly<Record<string, JsonValue>>

/** JSON as Apple's devices write it: slashes are escaped. */
export function writeJson(value: JsonValue): string {
  if (typeof value === 'bigint') return value.toString()
  if (value === null || typeof value !== 'object') return JSON.stringify(value).replaceAll('/', '\\/')
  if (Array.isArray(value)) return `[${value.map(writeJson).join(',')}]`
  const members = Object.entries(value).map(([name, member]) => `${writeJson(name)}:${writeJson(member)}`)
  return `{${members.join(',')}}`
}
