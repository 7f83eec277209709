import { CodedError } from '@tributary/contracts/errors'
import { parseJson } from '@tributary/service-kit/http/parse-json'
import type { FastifyRequest } from 'fastify'
import type { z } from 'zod'

/** The request's JSON body by its schema. Throws `bad_json`, or `invalid_field` that names the field and the rule. */
export function readBody<Schema extends z.ZodType>(request: FastifyRequest, schema: Schema): z.infer<Schema> {
  const { body } = request
  if (!Buffer.isBuffer(body) || body.length === 0) {
    throw new CodedError('bad_json', { message: 'The body must be a JSON object.' })
  }
  const parsed = schema.safeParse(parseJson(body))
  if (parsed.success) return wellFormed(parsed.data) as z.infer<Schema>
  const issue = parsed.error.issues[0]
  const path = issue?.code === 'unrecognized_keys' ? [...issue.path, issue.keys[0]] : issue?.path
  const field = path?.join('.') ?? ''
  // Never the value: it may be a secret that was put into the wrong field.
  if (field === '') throw new CodedError('bad_json', { message: 'The body must be a JSON object.' })
  throw new CodedError('invalid_field', { field, ...(issue === undefined ? {} : { message: ruleOf(issue) }) })
}

/** A limit in plain words. */
function ruleOf(issue: z.core.$ZodIssue): string {
  if (issue.code === 'too_big') return `It must be at most ${issue.maximum}${unitOf(issue.origin)}.`
  if (issue.code === 'too_small') return `It must be at least ${issue.minimum}${unitOf(issue.origin)}.`
  return issue.message
}

const unitOf = (origin: string): string => ({ string: ' characters long', array: ' items long' })[origin] ?? ''

/** Lone surrogates become U+FFFD (docs/rules.md#strings): PostgreSQL refuses them. Depth is what the schema allows. */
function wellFormed(value: unknown): unknown {
  if (typeof value === 'string') return value.toWellFormed()
  if (Array.isArray(value)) return value.map(wellFormed)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, wellFormed(member)]))
}
