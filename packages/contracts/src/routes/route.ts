import { z } from 'zod'
import { roles as everyRole, type Role } from '../admin/people/roles.ts'
import type { ErrorCode } from '../errors.ts'

/**
 * Whose credentials a route takes: `sdk_keys` are those of an app without its signature, `admin` the admin token or the
 * session of a person with one of its `roles`, `session` that of any person, `sign_in` none but the `Origin` of the panel;
 * `public` takes none.
 */
export type Auth = 'sdk' | 'sdk_keys' | 's2s' | 'reports' | 'admin' | 'session' | 'sign_in' | 'public'

/** The thing over which a person must hold the role. The request names it by `id` or `app_id` in the path, else by `company_id` or `app_id`. */
export type Over = 'company of path' | 'app of path' | 'key of path' | 'link of path' | Named
type Named = `${'company' | 'app'} of ${'query' | 'body'}`

/** A schema under its name in docs/openapi.json, as in `{ CreateCompany }`. A schema without a name is written there in place. */
type NamedSchema = Readonly<Record<string, z.ZodType>>

/** The declaration of a route: the one source of its document, its callers' types and its public address. */
export interface Route {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** The whole path, with `:name` for a parameter. */
  path: `/${string}`
  /** The path that the service registers instead, where one handler answers several operations. */
  served_at?: `/${string}`
  tag: 'Events' | 'Costs' | 'Links' | 'Postbacks' | 'Privacy' | 'Reports' | 'Admin' | 'Service'
  summary: string
  /** The summary when absent. */
  description?: string
  auth: Auth
  /** The people who may call a route of auth `admin`. The admin token always may. */
  roles?: readonly Role[]
  /**
   * Absent: a role in any company is enough, and the handler shows each person their own. When a request may leave the thing out and does,
   * only operators may call the route.
   */
  over?: Over
  /** Only for a route over a company: people whose role is limited to apps may call it too, and see only these apps. */
  limited?: true
  /** Fields of the body that fewer roles may give. */
  fields?: Readonly<Record<string, readonly Role[]>>
  /** The password must have been given a short time ago (`limits.session_fresh_ms`). */
  fresh?: true
  params?: z.ZodObject
  query?: z.ZodObject
  headers?: z.ZodObject
  body?: RouteBody
  /** Answers by their status. */
  answers: Readonly<Record<number, RouteAnswer>>
  /** Error codes besides those that `errorsOf` derives. */
  errors?: readonly ErrorCode[]
  /** Pages of any origin may call it (CORS). */
  cors?: true
  /** Its answers carry `X-Service-Quota-*`. */
  quota?: true
  /** The document shows the programs of docs/examples/signing with it. */
  signed?: true
  /** Only processes of the fleet reach it: the load balancer does not forward it. */
  inside?: true
}

interface RouteBody {
  schema: NamedSchema | z.ZodType
  description?: string
  /** `application/json` when absent. */
  content_type?: string
  /** The most bytes on the wire; the limit of the surface when absent. */
  bytes_max?: number
  examples: Readonly<Record<string, unknown>>
}

interface RouteAnswer {
  /** Absent: the answer has no body. */
  schema?: NamedSchema | z.ZodType
  description: string
  /** `application/json` when absent. */
  content_type?: string
  /**
   * Lines of JSON or server-sent events, each with the schema; lines or a Parquet file; or JSON that may also come as lines or as CSV.
   * JSON when absent.
   */
  form?: 'lines' | 'events' | 'lines or parquet' | 'json or lines' | 'json or csv'
  example?: unknown
}

/** Routes by their operation id. */
export type Routes = Readonly<Record<string, Route>>

const keyErrors = [
  'missing_auth_headers',
  'unknown_company_key',
  'unknown_app_key',
  'company_suspended',
  'app_company_mismatch',
] as const

/** Error codes that every route with credentials of a kind may answer. */
const authErrors: Record<Auth, readonly ErrorCode[]> = {
  sdk: [...keyErrors, 'bad_signature'],
  sdk_keys: keyErrors,
  s2s: ['missing_bearer_token', 'unknown_or_revoked_key', 'company_suspended', 'scope_missing', 'rate_limited'],
  reports: ['missing_bearer_token', 'invalid_or_revoked_key', 'company_suspended', 'scope_missing', 'rate_limited'],
  admin: ['missing_bearer_token', 'invalid_admin_token', 'rate_limited', 'session_ended'],
  session: ['sign_in_required', 'session_ended'],
  sign_in: [],
  public: [],
}

/** The kinds of credentials of the admin API. */
export const isAdminAuth = (auth: Auth): boolean => auth === 'admin' || auth === 'session' || auth === 'sign_in'

/** Every code that a route may answer: its own, and those of its credentials, its body and its path. */
export function errorsOf(route: Route): ErrorCode[] {
  const { method, auth, params, query, body, errors = [] } = route
  if (auth === 'public') return [...errors]
  const all: ErrorCode[] = [...errors, ...authErrors[auth], 'internal_error', 'unavailable']
  const isJson = body !== undefined && body.content_type === undefined
  if (method !== 'GET') all.push('body_too_large')
  if (isJson) all.push('bad_json')
  if (isAdminAuth(auth) && (isJson || query !== undefined)) all.push('invalid_field')
  if (isAdminAuth(auth) && method !== 'GET') all.push('forged_request')
  if (route.fresh) all.push('password_needed')
  if (params !== undefined || foreignCode(route) === 'not_found') all.push('not_found')
  return [...new Set(all)]
}

/**
 * The code for people who may not call a route: that of a thing which does not exist; `not_found` for a route without `over`. Null where
 * everybody may.
 */
export function foreignCode({ auth, roles, over, errors = [] }: Route): ErrorCode | null {
  if (auth !== 'admin') return null
  if (over !== undefined) return errors.find((code) => code.startsWith('unknown_')) ?? 'not_found'
  return everyRole.every((role) => roles?.includes(role)) ? null : 'not_found'
}

/** The schema itself, whether named or not; the schema of an absent value if there is none. */
export function schemaOf(schema: NamedSchema | z.ZodType | undefined): z.ZodType {
  if (schema === undefined) return z.undefined()
  return schema instanceof z.ZodType ? schema : Object.values(schema)[0]!
}

/** The path as a caller sends it: encoded parameters, and the query. */
export function pathOf(route: Route, params: object = {}, query: object = {}): string {
  const values = new Map(Object.entries(params))
  const path = route.path.replaceAll(/:(\w+)/g, (_all, name) => encodeURIComponent(String(values.get(name))))
  const given = Object.entries(query).filter(([, value]) => value !== undefined)
  return given.length === 0 ? path : `${path}?${new URLSearchParams(given)}`
}

type Unnamed<S> = S extends z.ZodType ? S : S[keyof S]
type In<S> = Unnamed<S> extends infer Z extends z.ZodType ? z.input<Z> : never
type Out<S> = Unnamed<S> extends infer Z extends z.ZodType ? z.output<Z> : never

/** The input of a caller. */
export type RouteInput<R> = (R extends { params: infer P } ? { params: In<P> } : unknown) &
  (R extends { query: infer Q } ? { query: In<Q> } : unknown) &
  (R extends { body: { schema: infer B } } ? { body: In<B> } : unknown)

/** The input of a handler: the same after its checks, with the defaults. */
export type RouteChecked<R> = (R extends { params: infer P } ? { params: Out<P> } : unknown) &
  (R extends { query: infer Q } ? { query: Out<Q> } : unknown) &
  (R extends { body: { schema: infer B } } ? { body: Out<B> } : unknown)

/** The answer with status 200. */
export type RouteOutput<R> = R extends { answers: { 200: { schema: infer A } } } ? Out<A> : never
