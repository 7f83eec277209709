import { type ErrorBody, type ErrorCode, errorCatalogue } from '@tributary/contracts/errors'
import type { JsonSchema } from './json-schema.ts'

/** The meaning of each code in docs/errors.md. */
export type ErrorMeanings = ReadonlyMap<string, string>

const row = /^\| `(\w+)` +\| \d{3} +\|[^|]*\| (.*?) *\|$/gm

/** The meanings in the table of docs/errors.md. */
export const readMeanings = (errorsPage: string): ErrorMeanings =>
  new Map([...errorsPage.matchAll(row)].map(([, code = '', meaning = '']) => [code, meaning]))

/** One response a status, with exactly these codes of the catalogue. */
export function errorResponses(
  codes: readonly ErrorCode[],
  meanings: ErrorMeanings,
  headersOf: (status: number) => JsonSchema,
): Record<string, JsonSchema> {
  const known = errorCatalogue.filter(({ code }) => codes.includes(code))
  const statuses = [...new Set(known.map(({ status }) => status))].toSorted()
  return Object.fromEntries(
    statuses.map((status) => {
      const of = known.filter((entry) => entry.status === status).map(({ code }) => code)
      return [status, errorResponse(of, meanings, headersOf(status))]
    }),
  )
}

/** A response that holds one of these codes; they share a status. */
export function errorResponse(codes: readonly ErrorCode[], meanings: ErrorMeanings, headers: JsonSchema): JsonSchema {
  return {
    description: codes.map((code) => `- \`${code}\`: ${meanings.get(code)}`).join('\n'),
    headers,
    content: {
      'application/json': {
        schema: errorSchema(codes),
        examples: Object.fromEntries(codes.map((code) => [code, { value: example(code) }])),
      },
    },
  }
}

const errorSchema = (codes: readonly ErrorCode[]): JsonSchema => ({
  type: 'object',
  required: ['error', 'request_id'] satisfies (keyof ErrorBody)[],
  properties: {
    error: { type: 'string', enum: codes, description: 'The contract.' },
    field: { type: 'string', description: 'The field that was wrong.' },
    message: { type: 'string', description: 'For people; may change.' },
    request_id: { type: 'string', description: 'The same as `X-Request-Id`; the log has it.' },
  } satisfies Record<keyof ErrorBody, JsonSchema>,
})

const example = (error: ErrorCode): ErrorBody => ({ error, request_id: '6f1c1c4e-52b0-4b0e-9d53-8e4f5c0d2a11' })
