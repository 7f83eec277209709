import { pathOf, type Route, type RouteInput, type RouteOutput, schemaOf } from '@tributary/contracts/route'
import { findAdminToken, readConfig } from './config.ts'
import { CliError } from './errors.ts'
import { adminFenceHint, open, type RequestOptions, refusal, request } from './http.ts'

/** The input of a route; absent where the route takes none. */
type Input<R> = keyof RouteInput<R> extends never ? [] : [RouteInput<R>]

/** Calls a declared route of the admin API; the answer is held to its declared shape. */
export const admin = <R extends Route>(route: R, ...input: Input<R>): Promise<RouteOutput<R>> =>
  adminWithin({}, route, ...input)

/** The same with limits of its own. */
export async function adminWithin<R extends Route>(
  limits: Pick<RequestOptions, 'timeout_ms'>,
  route: R,
  ...[input]: Input<R>
): Promise<RouteOutput<R>> {
  const { url, ...question } = await requestOf(route, input ?? {})
  const answer = await request(url, { ...question, ...limits })
  if (answer.status < 200 || answer.status > 299) throw adminRefusal(refusal(answer))
  const parsed = schemaOf(route.answers[200]!.schema).safeParse(answer.body)
  if (!parsed.success)
    throw new CliError('unexpected_answer', 'The service answered in an unknown shape; is it as new as this command?')
  return parsed.data as RouteOutput<R>
}

/** The same for an answer of any size and kind. */
export async function openAdmin<R extends Route>(route: R, ...[input]: Input<R>): Promise<Response> {
  const { url, ...question } = await requestOf(route, input ?? {})
  return open(url, question).catch((error: unknown) => {
    throw error instanceof CliError ? adminRefusal(error) : error
  })
}

const emptyBody = ({ method }: Route) => (method === 'GET' ? undefined : {})

interface GivenInput {
  params?: object
  query?: object
  body?: unknown
}

async function requestOf(route: Route, { params, query, body = emptyBody(route) }: GivenInput) {
  const config = readConfig()
  const { content_type } = route.body ?? {}
  return {
    url: config.url + pathOf(route, params, query),
    method: route.method,
    headers: {
      authorization: `Bearer ${await findAdminToken(config)}`,
      ...(body === undefined ? {} : { 'content-type': content_type ?? 'application/json' }),
    },
    ...(body === undefined ? {} : { body: content_type === undefined ? JSON.stringify(body) : String(body) }),
  } satisfies RequestOptions & { url: string }
}

/** Explains `not_found`: a missing object has its own code (`unknown_app`), so the fence hides the path. */
const adminRefusal = (error: CliError): CliError =>
  error.code === 'not_found'
    ? new CliError(error.code, `The service hides its admin API from this machine. ${adminFenceHint}`)
    : error
