import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { reportNames, reports } from '@tributary/contracts/reports'
import { z } from 'zod'

const file = join(import.meta.dirname, '..', 'packages', 'client', 'src', 'report-rows.ts')

interface Field {
  type?: string | string[]
  /** The only values, where these are known. */
  enum?: (string | number)[]
  anyOf?: Field[]
  /** Type of the values of any key of an object. */
  additionalProperties?: Field
  description?: string
}

const words: Record<string, string> = {
  string: 'string',
  integer: 'number',
  number: 'number',
  boolean: 'boolean',
  null: 'null',
}

/** The type of a field of a row. The only objects in rows are from any text to one type. */
function typeOf(field: Field): string {
  if (field.anyOf !== undefined) return field.anyOf.map(typeOf).join(' | ')
  if (field.enum !== undefined) return field.enum.map((value) => JSON.stringify(value).replaceAll('"', "'")).join(' | ')
  if (field.additionalProperties) return `Record<string, ${typeOf(field.additionalProperties)}>`
  const types = [field.type].flat().map((type) => words[type ?? ''])
  if (types.includes(undefined)) throw new Error(`a row has a field of an unknown type: ${JSON.stringify(field)}`)
  return types.join(' | ')
}

/** The index signature of the fields `^d[0-9]+_rate$`. */
const indexOf = (pattern: string) => `[field: \`${pattern.slice(1, -1).replace('[0-9]+', `$\{number}`)}\`]`

/** The formatter breaks what is longer. */
const line_chars_max = 120

function fieldLine(name: string, type: string): string {
  const line = `    ${name}: ${type}`
  return line.length <= line_chars_max ? line : `    ${name}:\n      | ${type.replaceAll(' | ', '\n      | ')}`
}

function rowLines(row: z.ZodObject): string[] {
  const { properties = {}, patternProperties = {}, required = [] } = z.toJSONSchema(row, { io: 'output' })
  const ofDays = Object.entries(patternProperties).map(([pattern, field]) => [indexOf(pattern), field])
  const fields = { ...properties, ...Object.fromEntries(ofDays) }
  return Object.entries(fields as Record<string, Field>).flatMap(([name, field]) => [
    ...(field.description === undefined ? [] : [`    /** ${field.description} */`]),
    name in properties && !required.includes(name)
      ? fieldLine(`${name}?`, `${typeOf(field)} | undefined`)
      : fieldLine(name, typeOf(field)),
  ])
}

/** The rows of every declared report as types that import nothing: the client is packed alone. */
const clientText = () =>
  [
    '/** The row of each report (docs/rules.md#report-rows). Made by `npm run dump`: do not edit. */',
    'export interface ReportRows {',
    ...reportNames.flatMap((name) => [`  ${name}: {`, ...rowLines(reports[name].row), '  }']),
    '}\n',
  ].join('\n')

/** Writes packages/client/src/report-rows.ts; with `--check` it only says when that is out of date, and exits with 1. */
async function main(): Promise<void> {
  const { values } = parseArgs({ options: { check: { type: 'boolean', default: false } } })
  const text = clientText()
  if (!values.check) await writeFile(file, text)
  else if ((await readFile(file, 'utf8')) !== text) {
    console.error('packages/client/src/report-rows.ts is not what reports declare: run `npm run dump` and commit it.')
    process.exitCode = 1
  }
}

if (import.meta.main) await main()
