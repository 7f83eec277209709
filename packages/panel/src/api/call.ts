import type { managingRoutes } from '@tributary/contracts/admin/admin-routes'
import type { clickRoutes } from '@tributary/contracts/admin/rows/clicks'
import type { findRoutes } from '@tributary/contracts/admin/rows/find'
import type { appInstallRoutes } from '@tributary/contracts/admin/rows/installs'
import type { overviewRoutes } from '@tributary/contracts/admin/rows/overview'
import type { whatIfRoutes } from '@tributary/contracts/admin/rows/what-if'
import type { healthRoutes } from '@tributary/contracts/health'
import type { ReportMeta, ReportName, ReportRow } from '@tributary/contracts/reports'
import type { RouteInput, RouteOutput } from '@tributary/contracts/route'
import { addressOf, type Sent } from './address.ts'
import { ApiError, toApiError, unreachable } from './api-error.ts'
import { forgetBegun, requestOptions, takeBegun } from './begun.ts'
import { noteServerTime } from './clock.ts'
import { routes } from './declared/routes.ts'

/** The declared routes, as types alone: no code of the server is in the bundle. */
type Declared = typeof managingRoutes &
  typeof appInstallRoutes &
  typeof findRoutes &
  typeof overviewRoutes &
  typeof clickRoutes &
  typeof whatIfRoutes &
  Pick<typeof healthRoutes, 'getHealth'>
export type RouteName = keyof Declared & keyof typeof routes
export type Input<Name extends RouteName> = RouteInput<Declared[Name]>
export type Output<Name extends RouteName> = RouteOutput<Declared[Name]>

/** The token of the session. Every change carries it. */
let csrf_token = ''
export const keepCsrfToken = (token: string): void => {
  csrf_token = token
}

/** Answers that the service may confirm by their tag, by address. */
const tagged = new Map<string, { etag: string; answer: unknown }>()
const tagged_max = 200
/** What somebody saw ends with the session. */
export const forgetAnswers = (): void => tagged.clear()

/** Calls a declared route. Throws `ApiError`. */
export const call = <Name extends RouteName>(
  name: Name,
  input: Input<Name>,
  signal?: AbortSignal,
): Promise<Output<Name>> => send(name, input as Sent, signal) as Promise<Output<Name>>

/** Reads an answer of a declared route whose form is lines, each as it comes. Throws `ApiError`. */
export async function callLines<Name extends RouteName>(
  name: Name,
  input: Input<Name>,
  onLine: (line: Output<Name>) => void,
  signal: AbortSignal,
): Promise<void> {
  const answer = await request(addressOf(name, input as Sent), { signal })
  if (!answer.ok) throw await toApiError(answer)
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader()
  const read = async () => (await reader?.read().catch((cause: unknown) => throwUnreachable(cause, signal)))?.value
  let rest = ''
  for (let text = await read(); text !== undefined; text = await read()) {
    const lines = (rest + text).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) onLine(JSON.parse(line) as Output<Name>)
  }
}

export interface ReportPage<Name extends ReportName> {
  rows: ReportRow<Name>[]
  meta: ReportMeta
}

/** Requests a report of an app. Throws `ApiError`. */
export const callReport = <Name extends ReportName>(
  name: Name,
  app_id: string,
  query: ReportQuery,
  signal?: AbortSignal,
): Promise<ReportPage<Name>> => send(`${name}OfApp`, { params: { app_id }, query }, signal) as Promise<ReportPage<Name>>

export type ReportQuery = Readonly<Record<string, string | number | readonly string[] | undefined>>

async function send(name: keyof typeof routes, input: Sent, signal?: AbortSignal): Promise<unknown> {
  const { method } = routes[name]
  const address = addressOf(name, input)
  if (method !== 'GET') forgetBegun()
  const known = method === 'GET' ? tagged.get(address) : undefined
  const begun = method === 'GET' && known === undefined ? takeBegun(address) : undefined
  const answer = await (begun?.catch((cause: unknown) => throwUnreachable(cause, signal)) ??
    request(address, {
      method,
      ...(signal && { signal }),
      headers: {
        ...(input.body !== undefined && { 'content-type': 'application/json' }),
        ...(method !== 'GET' && { 'x-csrf-token': csrf_token }),
        ...(known && { 'if-none-match': known.etag }),
      },
      ...(input.body !== undefined && { body: JSON.stringify(input.body) }),
    }))
  noteServerTime(answer.headers.get('date'))
  if (answer.status === 304 && known) return known.answer
  if (!answer.ok) throw await toApiError(answer)
  const content: unknown = await answer.json()
  const etag = answer.headers.get('etag')
  if (etag !== null) keep(address, { etag, answer: content })
  return content
}

const request = (address: string, init: RequestInit): Promise<Response> =>
  fetch(address, { ...requestOptions, ...init }).catch((cause: unknown) => throwUnreachable(cause, init.signal))

/** Throws `ApiError`, or the cause unchanged after the caller has given the request up. */
function throwUnreachable(cause: unknown, signal: AbortSignal | null | undefined): never {
  throw signal?.aborted ? cause : new ApiError(unreachable)
}

/** The oldest answer leaves first. */
function keep(address: string, answer: { etag: string; answer: unknown }): void {
  tagged.delete(address)
  tagged.set(address, answer)
  for (const oldest of tagged.keys()) {
    if (tagged.size <= tagged_max) return
    tagged.delete(oldest)
  }
}
