import type { ErrorCode } from '@tributary/contracts/errors'
import { type ErrorMeanings, errorResponses } from './error-responses.ts'
import type { JsonSchema } from './json-schema.ts'
import type { SchemaName } from './schemas.ts'

type Auth = 'sdk' | 'server_key' | 'admin' | 'public'

/** What is to be said of one route; the rest follows from it. */
export interface Operation {
  method: 'get' | 'post' | 'patch'
  /** With OpenAPI's `{parameter}`. */
  path: string
  id: string
  tag: 'Events' | 'Privacy' | 'Reports' | 'Admin' | 'Service'
  summary: string
  description: string
  auth: Auth
  parameters?: Parameter[]
  body?: Body
  answers: Record<number, Answer>
  /** Besides `internal_error` and `unavailable`, which every route with credentials may answer. */
  errors: readonly ErrorCode[]
  /** Its answers carry `X-Service-Quota-*`. */
  quota?: true
  /** The programs of docs/examples/signing stand beside it. */
  signed?: true
}

export interface Parameter {
  name: string
  in: 'path' | 'query' | 'header'
  required?: boolean
  description: string
  schema: JsonSchema
  example?: unknown
}

interface Body {
  schema: SchemaName | JsonSchema
  description: string
  content_type?: string
  examples: Record<string, unknown>
}

interface Answer {
  description: string
  schema: SchemaName | JsonSchema
  content_type?: string
  example?: unknown
  /** The type of the other form that the answer may have: lines of text. */
  lines_type?: string
}

/** The security requirement of each kind of credentials, by the names of `securitySchemes`. */
const security: Record<Auth, Record<string, never[]>[]> = {
  sdk: [{ company_key: [], app_key: [], signature: [] }],
  server_key: [{ server_key: [] }],
  admin: [{ admin_token: [] }],
  public: [],
}

/** The OpenAPI operation object. */
export function toOperationObject(operation: Operation, meanings: ErrorMeanings): JsonSchema {
  const { id, tag, summary, description, auth, parameters = [], body, answers } = operation
  const everywhere: ErrorCode[] = auth === 'public' ? [] : ['internal_error', 'unavailable']
  const requestId = auth === 'public' ? [] : [{ $ref: '#/components/parameters/RequestId' }]
  return {
    operationId: id,
    tags: [tag],
    summary,
    description,
    security: security[auth],
    parameters: [...parameters, ...requestId],
    ...(body === undefined ? {} : { requestBody: requestBody(body) }),
    responses: {
      ...mapAnswers(answers, (answer, status) => ({
        description: answer.description,
        headers: headersOf(operation, status),
        content: answerContent(answer),
      })),
      ...errorResponses([...operation.errors, ...everywhere], meanings, (status) => headersOf(operation, status)),
    },
  }
}

const mapAnswers = (answers: Record<number, Answer>, map: (answer: Answer, status: number) => JsonSchema) =>
  Object.fromEntries(Object.entries(answers).map(([status, answer]) => [status, map(answer, Number(status))]))

function answerContent({ schema, content_type, example, lines_type }: Answer): JsonSchema {
  return {
    ...content(schema, content_type, example === undefined ? [] : [['example', example]]),
    ...(lines_type === undefined ? {} : content({ type: 'string' }, lines_type, [])),
  }
}

function requestBody({ schema, description, content_type, examples }: Body): JsonSchema {
  return { required: true, description, content: content(schema, content_type, Object.entries(examples)) }
}

function content(
  schema: SchemaName | JsonSchema,
  type = 'application/json',
  examples: [string, unknown][],
): JsonSchema {
  return {
    [type]: {
      schema: typeof schema === 'string' ? { $ref: `#/components/schemas/${schema}` } : schema,
      ...(examples.length === 0
        ? {}
        : { examples: Object.fromEntries(examples.map(([name, value]) => [name, { value }])) }),
    },
  }
}

/** Headers that an answer of this status may carry; only `X-Request-Id` is always there. */
function headersOf({ auth, quota }: Operation, status: number): JsonSchema {
  const names = ['X-Request-Id']
  if (auth === 'server_key' && status !== 401) names.push('RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset')
  if (quota && (status === 200 || status === 429)) names.push('X-Service-Quota-Used', 'X-Service-Quota-Limit')
  if (status === 429 || (status === 503 && auth !== 'public')) names.push('Retry-After')
  if (status === 401 && auth !== 'sdk') names.push('WWW-Authenticate')
  if (status === 405) names.push('Allow')
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))
}
