import { CodedError } from '@tributary/contracts/errors'
import { type Route, type RouteChecked, schemaOf } from '@tributary/contracts/route'
import { parseJson } from '@tributary/service-kit/http/parse-json'
import type { FastifyRequest } from 'fastify'
import type { z } from 'zod'

/**
 * What a route declares of its input: path parameters, query and body, by their schemas. Throws `bad_json`, or
 * `invalid_field` that names the field and the rule.
 */
export function readInput<R extends Route>(route: R, { params, query, body }: FastifyRequest): RouteChecked<R> {
  return {
    ...(route.params && { params: check(params, route.params) }),
    ...(route.query && { query: check(query, route.query) }),
    ...(route.body && { body: readBody(body, route.body) }),
  } as RouteChecked<R>
}

/** A body that is no JSON is text. */
function readBody(body: unknown, { schema, content_type }: NonNullable<Route['body']>): unknown {
  const bytes = Buffer.isBuffer(body) ? body : Buffer.alloc(0)
  if (content_type !== undefined) return bytes.toString('utf8')
  if (bytes.length === 0) throw new CodedError('bad_json', { message: 'The body must be a JSON object.' })
  return check(parseJson(bytes), schemaOf(schema))
}

function check(value: unknown, schema: z.ZodType): unknown {
  const parsed = schema.safeParse(value)
  if (parsed.success) return wellFormed(parsed.data)
  const issue = parsed.error.issues[0]
  const path = issue?.code === 'unrecognized_keys' ? [...issue.path, issue.keys[0]] : issue?.path
  const field = path?.join('.') ?? ''
  // The message lacks the value, which may be a secret in the wrong field.
  if (field === '') throw new CodedError('bad_json', { message: 'The body must be a JSON object.' })
  throw new CodedError('invalid_field', { field, ...(issue === undefined ? {} : { message: ruleOf(issue) }) })
}

/** A limit in plain words. */
function ruleOf(issue: z.core.$ZodIssue): string {
  if (issue.code === 'too_big') return `It must be at most ${issue.maximum}${unitOf(issue.origin)}.`
  if (issue.code === 'too_small') return `It must be at least ${issue.minimum}${unitOf(issue.origin)}.`
  if (issue.code === 'invalid_type') return typeRules[issue.expected] ?? issue.message
  return issue.message
}

const typeRules: Partial<Record<string, string>> = {
  boolean: 'It must be true or false.',
  int: 'It must be a whole number.',
  number: 'It must be a number.',
  string: 'It must be a text.',
}

const unitOf = (origin: string): string => ({ string: ' characters long', array: ' items long' })[origin] ?? ''

/** Lone surrogates become U+FFFD (docs/rules.md#strings): PostgreSQL refuses them. Depth is what the schema allows. */
function wellFormed(value: unknown): unknown {
  if (typeof value === 'string') return value.toWellFormed()
  if (Array.isArray(value)) return value.map(wellFormed)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, wellFormed(member)]))
}
