import type { ErrorCode } from '@tributary/contracts/errors'
import type { Operation, Parameter } from '../operation.ts'
import type { SchemaName } from '../schemas.ts'

const prefix = '/admin/api/v1'
const tokenErrors: ErrorCode[] = ['missing_bearer_token', 'invalid_admin_token', 'rate_limited']

/** The path parameter that names one thing. */
export const pathId = (what: string, example: string): Parameter => ({
  name: 'id',
  in: 'path',
  required: true,
  description: `Id of the ${what}.`,
  schema: { type: 'string' },
  example,
})

/** The query parameter that must name a company or an app. */
export const queryId = (what: 'company' | 'app', example: string): Parameter => ({
  ...pathId(what, example),
  name: `${what}_id`,
  in: 'query',
})

export type Shown = Operation['answers'][number]

type Told = Pick<Operation, 'path' | 'id' | 'summary'> & Partial<Operation> & { shown: Shown }

/** A route that reads. */
export const read = ({ path, shown, errors = [], ...told }: Told): Operation => ({
  method: 'get',
  path: prefix + path,
  tag: 'Admin',
  description: told.summary,
  auth: 'admin',
  answers: { 200: shown },
  errors: [...tokenErrors, ...errors],
  ...told,
})

/** A route that changes something, which `admin_audit_log` keeps. */
export const change = ({ errors = [], ...told }: Told): Operation =>
  read({ method: 'post', ...told, errors: ['body_too_large', ...errors] })

/** A JSON body with one example. */
export const body = (schema: SchemaName, example: object) => ({
  schema,
  description: 'JSON. Other fields are refused.',
  examples: { example },
})

/** When the companies, apps and keys of the examples were made. */
export const created_at_ms = Date.UTC(2026, 5, 1)
