import type { JsonSchema } from '../json-schema.ts'

/** A body of a request, or an answer. */
export interface Answer {
  description: string
  content?: Record<string, { schema: JsonSchema; examples?: Record<string, { value: unknown }> }>
}

export interface Parameter {
  name: string
  in: string
  description?: string
  required?: boolean
  schema: JsonSchema
  example?: unknown
}

export interface Operation {
  operationId: string
  tags: string[]
  summary: string
  description: string
  security: Record<string, unknown>[]
  parameters: Parameter[]
  requestBody?: Answer
  responses: Record<string, Answer>
  'x-codeSamples'?: { lang: string; label: string; source: string }[]
}

/** docs/openapi.json, as far as the reference shows it. */
export interface OpenapiDocument {
  tags: { name: string; description: string }[]
  paths: Record<string, Record<string, Operation>>
  components: JsonSchema
}
