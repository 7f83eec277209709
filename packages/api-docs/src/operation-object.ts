import { rawTypes } from '@tributary/contracts/raw-tables'
import { type Auth, errorsOf, type Route } from '@tributary/contracts/route'
import { z } from 'zod'
import { type ErrorMeanings, errorResponses } from './error-responses.ts'
import { type JsonSchema, jsonSchema } from './json-schema.ts'

type Body = NonNullable<Route['body']>
type Answer = Route['answers'][number]

/** The security requirement of each kind of credentials, by the names of `securitySchemes`. */
const security: Record<Auth, Record<string, never[]>[]> = {
  sdk: [{ company_key: [], app_key: [], signature: [] }],
  sdk_keys: [{ company_key: [], app_key: [] }],
  s2s: [{ server_key: [] }],
  reports: [{ server_key: [] }],
  admin: [{ admin_token: [] }, { session: [] }],
  session: [{ session: [] }],
  sign_in: [],
  public: [],
}

/** The OpenAPI operation object of a route. */
export function toOperationObject(id: string, route: Route, meanings: ErrorMeanings): JsonSchema {
  const { tag, summary, description = summary, auth, params, query, headers, body, answers } = route
  const requestId = auth === 'public' ? [] : [{ $ref: '#/components/parameters/RequestId' }]
  const parameters = [
    ...toParameters('path', params),
    ...toParameters('query', query),
    ...toParameters('header', headers),
  ]
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
        headers: headersOf(route, status),
        ...answerContent(answer),
      })),
      ...errorResponses(errorsOf(route), meanings, (status) => headersOf(route, status)),
    },
  }
}

/** The parameters of one location, each with its description and example beside its schema. */
const toParameters = (location: 'path' | 'query' | 'header', object: z.ZodObject = z.object({})): JsonSchema[] =>
  Object.entries(object.shape).map(([name, field]) => {
    const { description, example, ...schema } = jsonSchema(field as z.ZodType)
    const required = field.safeParse(undefined).success ? {} : { required: true }
    return { name, in: location, ...required, description, schema, ...(example === undefined ? {} : { example }) }
  })

const mapAnswers = (answers: Route['answers'], map: (answer: Answer, status: number) => JsonSchema) =>
  Object.fromEntries(Object.entries(answers).map(([status, answer]) => [status, map(answer, Number(status))]))

const lines_type = 'application/x-ndjson'
/** Content types beside JSON. */
/** Content types of an answer that is many, each with the schema. */
const many_types = { lines: lines_type, 'lines or parquet': lines_type, events: 'text/event-stream' }
const other_types = { 'json or lines': lines_type, 'json or csv': 'text/csv' }

function answerContent({ schema, content_type, example, form }: Answer): JsonSchema {
  if (schema === undefined) return {}
  if (form === 'lines' || form === 'events' || form === 'lines or parquet') {
    const file = form === 'lines or parquet' ? content({ type: 'string', format: 'binary' }, rawTypes.parquet, []) : {}
    return {
      content: { ...content({ type: 'string', contentSchema: toSchema(schema) }, many_types[form], []), ...file },
    }
  }
  return {
    content: {
      ...content(toSchema(schema), content_type, example === undefined ? [] : [['example', example]]),
      ...(form === undefined ? {} : content({ type: 'string' }, other_types[form], [])),
    },
  }
}

function requestBody({ schema, description = strictJson, content_type, examples }: Body): JsonSchema {
  return { required: true, description, content: content(toSchema(schema), content_type, Object.entries(examples)) }
}

const strictJson = 'JSON. Other fields are refused.'

function content(schema: JsonSchema, type = 'application/json', examples: [string, unknown][]): JsonSchema {
  return {
    [type]: {
      schema,
      ...(examples.length === 0
        ? {}
        : { examples: Object.fromEntries(examples.map(([name, value]) => [name, { value }])) }),
    },
  }
}

/** A schema with a name is referred to; one without stands in place. */
const toSchema = (schema: Body['schema']): JsonSchema =>
  schema instanceof z.ZodType ? jsonSchema(schema) : { $ref: `#/components/schemas/${Object.keys(schema)[0]}` }

/** The schemas of these routes that have a name, in the order in which they appear. */
export function namedSchemas(routes: readonly Route[]): Record<string, JsonSchema> {
  const all = routes.flatMap(({ body, answers }) => [...(body ? [body] : []), ...Object.values(answers)])
  const named = all.flatMap(({ schema = {} }) => (schema instanceof z.ZodType ? [] : Object.entries(schema)))
  return Object.fromEntries(named.map(([name, schema]) => [name, jsonSchema(schema)]))
}

/** Headers that an answer of this status may carry; only `X-Request-Id` is always there. */
function headersOf({ auth, quota, tag, answers }: Route, status: number): JsonSchema {
  const names = ['X-Request-Id']
  const isReport = answers[304] !== undefined && answers[200]?.form === 'json or csv'
  if (isReport && (status === 200 || status === 304))
    names.push('ETag', 'X-Missing-Rates', 'X-Mature-Until-Ms', 'X-Whole-Days', 'X-Rows')
  if (answers[200]?.form === 'lines or parquet' && status === 200)
    names.push('X-Until-Ms', 'X-Complete-Until-Ms', 'X-Raw-Epoch')
  if (answers[200]?.form === 'events' && status === 200) names.push('X-Accel-Buffering')
  const isKeyed = auth === 's2s' || auth === 'reports'
  if (isKeyed) names.push('RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset')
  if (quota && (status === 200 || status === 429)) names.push('X-Service-Quota-Used', 'X-Service-Quota-Limit')
  if (status === 429 || (status === 503 && tag !== 'Service')) names.push('Retry-After')
  if (status === 401 && auth !== 'sdk' && auth !== 'sdk_keys') names.push('WWW-Authenticate')
  if (status === 405) names.push('Allow')
  if (status === 302) names.push('Location')
  if (answers[304] !== undefined && (status === 200 || status === 304)) names.push('ETag', 'Cache-Control')
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))
}
