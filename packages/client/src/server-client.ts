import { bearer, createBulkPost, type ServerPostOptions } from './bulk-post.ts'
import { type Decided, deliverEvents, type Outcome, type Outgoing, platformsOf, Refusals } from './deliver-events.ts'
import type { ServerEvent, ServerEventReply } from './events.ts'
import { type Answer, baseUrl, errorOf, sendRequest, textOf, unreadFetch } from './http.ts'
import { limits } from './limits.ts'
import type { Report, ReportCsv, ReportName, ReportParams } from './reports.ts'
import { type Delivered, defaultPolicy, deliver, type RetryPolicy } from './retry.ts'
import { takeBatch, utf8Bytes } from './sdk/take-batch.ts'
import { TributaryError } from './tributary-error.ts'

export type { ServerEvent, ServerEventReply } from './events.ts'
export type { Report, ReportCsv, ReportName, ReportParams } from './reports.ts'
export type { RetryPolicy } from './retry.ts'

export interface ServerClientOptions extends Omit<ServerPostOptions, 'timeout_ms'> {
  /** How often and how long a request is retried; see `defaultPolicy`. */
  retry?: Partial<RetryPolicy> | undefined
  /** Timeout of one request. Default: 30 s, for a report 45 s. */
  timeout_ms?: number | undefined
}

/** `undecided`: a request failed before the service answered for this event. Send it again with this `event_id`. */
export interface BulkEventResult {
  event_id: string
  status: 'accepted' | 'rejected' | 'undecided'
  /** The reason for this event, or the error code when a whole request was refused because of it. */
  reason?: string
  field?: string
  /** A person reads here what was wrong. */
  message?: string
}

export interface BulkResult {
  accepted: number
  rejected: number
  /** One result per event, in the order of the events. */
  results: BulkEventResult[]
}

/** A bulk that failed half-way: the code of the failed request, and the known result of each event. */
export class BulkError extends TributaryError {
  override name = 'BulkError'
  readonly results: BulkEventResult[]

  constructor(cause: TributaryError, results: BulkEventResult[]) {
    super(cause.code, { ...cause, message: cause.message, cause })
    this.results = results
  }
}

export interface CallOptions {
  signal?: AbortSignal | undefined
}

export interface ServerClient {
  /** Sends one event by `POST /s2s/event`. An event without `event_id` gets one before the first try. */
  send(event: ServerEvent, options?: CallOptions): Promise<ServerEventReply>
  /** Sends events by `POST /s2s/events/bulk`, in as many requests as the limits require. Throws BulkError. */
  sendBulk(events: readonly ServerEvent[], options?: CallOptions): Promise<BulkResult>
  /** Reads one page of a report. */
  report<N extends ReportName>(name: N, params?: ReportParams, options?: CallOptions): Promise<Report<N>>
  /**
   * Reads all pages from `offset` on. All pages use the window of the first answer. New rows between two pages may move a
   * row from one page to the other; `reportCsv` has each row once.
   */
  reportPages<N extends ReportName>(name: N, params?: ReportParams, options?: CallOptions): AsyncGenerator<Report<N>>
  /** Opens a report as CSV: all rows, or one page if `limit` is given. */
  reportCsv(name: ReportName, params?: ReportParams, options?: CallOptions): Promise<ReportCsv>
}

/**
 * Makes a client for backends. Every method throws TributaryError: at once for a refusal, and after the last retry for
 * 429, 5xx and a missing answer. A rejected event is never sent again.
 */
export function createServerClient(options: ServerClientOptions): ServerClient {
  const policy: RetryPolicy = { ...defaultPolicy, ...options.retry }
  const url = baseUrl(options.url)
  const { fetch } = options
  const timeout_ms = options.timeout_ms ?? 30_000
  const report_ms = options.timeout_ms ?? report_ms_max
  const headers = bearer({ ...options, timeout_ms })
  const postBulk = createBulkPost({ ...options, timeout_ms })

  async function get<T>(attempt: () => Promise<Answer>, is: (body: T) => boolean, signal?: AbortSignal): Promise<T> {
    const { answer } = await deliver(attempt, policy, signal)
    const body = answer.body as T | null | undefined
    if (answer.status !== 200 || typeof body !== 'object' || body === null || !is(body)) throw errorOf(answer)
    return body
  }

  const client: ServerClient = {
    async send(event, { signal } = {}) {
      const body = JSON.stringify(withId(event))
      const json = { ...headers, 'content-type': 'application/json' }
      const attempt = () => sendRequest(`${url}/s2s/event`, { body, headers: json, signal, timeout_ms, fetch })
      return get<ServerEventReply>(attempt, ({ accepted }) => accepted === 1, signal)
    },

    sendBulk: (events, { signal } = {}) =>
      sendBulk(events, (texts) => deliver(() => postBulk(texts, signal), policy, signal)),

    async report<N extends ReportName>(name: N, params: ReportParams = {}, { signal }: CallOptions = {}) {
      const address = `${url}${reportPath(name, params)}`
      const attempt = () => sendRequest(address, { headers, signal, timeout_ms: report_ms, fetch })
      return get<Report<N>>(attempt, ({ rows, meta }) => Array.isArray(rows) && typeof meta === 'object', signal)
    },

    async reportCsv(name, params = {}, { signal } = {}) {
      const address = `${url}${reportPath(name, { ...params, format: 'csv' })}`
      const unread = unreadFetch(fetch)
      const attempt = () => sendRequest(address, { headers, signal, timeout_ms: report_ms, fetch: unread.fetch })
      const { answer } = await deliver(attempt, policy, signal)
      const response = unread.opened()
      if (answer.status !== 200 || response === undefined) throw errorOf(answer)
      const missing_rates = response.headers.get('x-missing-rates')?.split(',') ?? []
      return { text: textOf(response), missing_rates }
    },

    reportPages: (name, params, call) => readPages(client.report, name, params, call),
  }
  return client
}

/** Sends a bulk in as many requests as the limits require; `post` sends one. Throws BulkError. */
async function sendBulk(
  events: readonly ServerEvent[],
  post: (texts: readonly string[]) => Promise<Delivered>,
): Promise<BulkResult> {
  const waiting = events.map(toWaiting)
  // Kept for this call only: the events that a key may send can change at any time.
  const refusals = new Refusals()
  const onDecided = (decided: readonly Decided<Waiting>[]) => {
    for (const { event, outcome } of decided) event.result = resultOf(event.event_id, outcome)
  }
  try {
    for (let done = 0; done < waiting.length; ) {
      const batch = takeBatch(waiting.slice(done, done + bulk.events_max), bulk)
      await deliverEvents(batch, { post: (some) => post(some.map(({ json }) => json)), onDecided, refusals })
      done += batch.length
    }
  } catch (error) {
    if (!(error instanceof TributaryError)) throw error
    throw new BulkError(error, resultsOf(waiting))
  }
  const results = resultsOf(waiting)
  const accepted = results.filter(({ status }) => status === 'accepted').length
  return { accepted, rejected: results.length - accepted, results }
}

/** Reads all pages of a report from `offset` on, in the window of the first answer. */
async function* readPages<N extends ReportName>(
  report: ServerClient['report'],
  name: N,
  params: ReportParams = {},
  call: CallOptions = {},
): AsyncGenerator<Report<N>> {
  let next: ReportParams = { ...params, limit: params.limit ?? limits.report_limit_max }
  for (;;) {
    const page = await report(name, next, call)
    if (page.rows.length > 0 || page.meta.offset === (params.offset ?? 0)) yield page
    const { since_ms, until_ms, limit, offset } = page.meta
    if (page.rows.length < limit) return
    // The default window ends now, so later pages must repeat the window of the first one.
    next = { ...params, since_ms, until_ms, limit, offset: offset + limit }
  }
}

function reportPath(name: string, { days, by, ...params }: ReportParams & { format?: 'csv' }): string {
  const all = Object.entries({ ...params, days: days?.join(','), by: by?.join(',') })
  const sent = all.filter(([, value]) => value !== undefined && value !== null)
  const pairs = sent.flatMap(([key, value]) => [value].flat().map((one): [string, string] => [key, String(one)]))
  return `/api/v1/reports/${encodeURIComponent(name)}?${new URLSearchParams(pairs)}`
}

/** The service lets a report wait for 10 s and run for 30 s. */
const report_ms_max = 45_000

const bulk = { events_max: limits.bulk_events_max, body_bytes_max: limits.bulk_body_bytes_max }

interface Waiting extends Outgoing {
  event_id: string
  bytes: number
  result: BulkEventResult
}

const withId = (event: ServerEvent): ServerEvent & { event_id: string } => ({
  ...event,
  event_id: event.event_id ?? crypto.randomUUID(),
})

function toWaiting(given: ServerEvent): Waiting {
  const event = withId(given)
  const { event_id, event_name } = event
  const json = JSON.stringify(event)
  const result: BulkEventResult = { event_id, status: 'undecided' }
  return { json, bytes: utf8Bytes(json), event_id, event_name, platforms: platformsOf(event), result }
}

const resultOf = (event_id: string, outcome: Outcome): BulkEventResult =>
  outcome.status === 'accepted'
    ? { event_id, status: 'accepted' }
    : {
        event_id,
        status: 'rejected',
        reason: outcome.reason,
        ...(outcome.field === null ? {} : { field: outcome.field }),
        ...(outcome.message === null ? {} : { message: outcome.message }),
      }

const resultsOf = (waiting: readonly Waiting[]): BulkEventResult[] => waiting.map(({ result }) => result)
