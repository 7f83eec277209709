import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'

export const docs = join(import.meta.dirname, '..', '..', '..', 'docs')
export const readDoc = (...path: string[]): string => readFileSync(join(docs, ...path), 'utf8')

type Content = Record<string, { schema: object; examples?: Record<string, { value: unknown }> }>

export interface DocumentedOperation {
  operationId: string
  tags: string[]
  parameters: { name?: string; in?: string; example?: unknown; schema?: object }[]
  requestBody?: { content: Content }
  responses: Record<string, { description: string; headers?: Record<string, object>; content?: Content }>
  'x-codeSamples'?: { label: string; source: string }[]
}

/** docs/openapi.json as its readers have it. */
export const document = JSON.parse(readDoc('openapi.json')) as {
  info: { description: string }
  paths: Record<string, Record<string, DocumentedOperation>>
  components: {
    schemas: Record<string, object>
    responses: Record<string, DocumentedOperation['responses'][string]>
    headers: Record<string, { required: boolean }>
    securitySchemes: Record<string, { name?: string }>
  }
}

/** Each operation with its `POST /path`. */
export const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ route: `${method.toUpperCase()} ${path}`, ...operation })),
)

/** The codes of an error response. */
export const codesOf = (response: DocumentedOperation['responses'][string]): string[] => {
  const schema = response.content?.['application/json']?.schema as { properties?: { error?: { enum: string[] } } }
  return schema?.properties?.error?.enum ?? []
}

/** A check of a value against a schema of the document; what is wrong, or null. */
export function createChecker(strict: boolean): (schema: object, value: unknown) => string | null {
  const ajv = new Ajv2020({ strict: false, allErrors: true })
  formats.default(ajv)
  const all = strict ? (closed(document.components.schemas) as object) : document.components.schemas
  ajv.addSchema({ $id: 'https://document.test/', components: { schemas: all } })
  return (schema, value) => {
    const absolute = JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"https://document.test/#/'))
    const validate = ajv.compile(strict ? (closed(absolute) as object) : absolute)
    return validate(value) ? null : ajv.errorsText(validate.errors)
  }
}

/** The same schema without room for fields that it does not name. */
function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed)
  if (typeof schema !== 'object' || schema === null) return schema
  const copy = Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, closed(value)]))
  const open = copy.type === 'object' && copy.properties !== undefined && copy.additionalProperties === undefined
  return open ? { ...copy, additionalProperties: false } : copy
}
