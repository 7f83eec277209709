import type { JsonSchema } from '../json-schema.ts'
import { escapeHtml, type Html } from './html.ts'
import { renderText } from './markdown.ts'

/** A field or parameter as the reference lists it. */
interface Field {
  name: string
  schema: JsonSchema
  required: boolean
  description?: string | undefined
}

/** Follows references of a document. */
export type Resolve = (schema: unknown) => JsonSchema

/** Fields with their type, whether they must be there, and what they mean; those inside them can be opened. */
export const fieldList = (fields: readonly Field[], resolve: Resolve): Html =>
  fields.length === 0 ? '' : `<ul class="fields">${fields.map((field) => fieldItem(field, resolve)).join('')}</ul>`

function fieldItem(
  { name, schema, required, description = String(schema.description ?? '') }: Field,
  resolve: Resolve,
): Html {
  const inside = fieldList(fieldsOf(schema, resolve), resolve)
  const opened =
    inside === '' ? '' : `<details><summary>Fields of <code>${escapeHtml(name)}</code></summary>${inside}</details>`
  const must = required ? '<span class="must">required</span>' : ''
  return `<li><p class="name"><code>${escapeHtml(name)}</code> <span class="type">${escapeHtml(typeOf(schema, resolve))}</span> ${must}</p>${renderText(description)}${opened}</li>`
}

/** The fields of an object, or of the objects in a list. */
export function fieldsOf(given: JsonSchema, resolve: Resolve): Field[] {
  const schema = resolve(given)
  if (schema.items !== undefined) return fieldsOf(resolve(schema.items), resolve)
  const parts = [schema, ...((schema.allOf ?? schema.anyOf ?? []) as JsonSchema[]).map(resolve)]
  return parts.flatMap(({ properties = {}, required = [] }) =>
    Object.entries(properties as Record<string, JsonSchema>).map(([name, of]) => ({
      ...{ name, schema: resolve(of), required: (required as string[]).includes(name) },
    })),
  )
}

function rangeOf({ minimum, maximum }: JsonSchema): string[] {
  const isOpen = maximum === undefined || maximum === Number.MAX_SAFE_INTEGER
  if (!isOpen) return [minimum === undefined ? `at most ${maximum}` : `${minimum} to ${maximum}`]
  return minimum === undefined || minimum === Number.MIN_SAFE_INTEGER ? [] : [`at least ${minimum}`]
}

function typeOf(given: JsonSchema, resolve: Resolve): string {
  const schema = resolve(given)
  if (schema.enum !== undefined) return (schema.enum as unknown[]).map((one) => JSON.stringify(one)).join(' | ')
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  const types = [schema.type ?? 'any'].flat() as string[]
  const words = types.map((type) =>
    type === 'array' ? `list of ${typeOf((schema.items ?? {}) as JsonSchema, resolve)}` : type,
  )
  const bounds = [
    ...rangeOf(schema),
    ...(schema.maxLength === undefined ? [] : [`at most ${schema.maxLength} characters`]),
    ...(schema.maxItems === undefined ? [] : [`at most ${schema.maxItems}`]),
    ...(schema.default === undefined ? [] : [`default ${JSON.stringify(schema.default)}`]),
  ]
  return [words.join(' or '), ...bounds].join(', ')
}
