import { TributaryError } from './tributary-error.ts'

export interface Answer {
  status: number
  headers: Headers
  /** The parsed JSON, undefined when the body is none. */
  body: unknown
}

export interface Question {
  method?: string | undefined
  headers?: Record<string, string> | Headers | undefined
  body?: string | Uint8Array<ArrayBuffer> | undefined
  /** Connecting and reading the answer included. */
  timeout_ms: number
  signal?: AbortSignal | undefined
  fetch?: typeof globalThis.fetch | undefined
}

/**
 * One request. Every answer resolves, whatever its status. Throws TributaryError `unavailable` without one, and the
 * reason of `signal` when that ended it.
 */
export async function ask(url: string, question: Question): Promise<Answer> {
  const { method, headers, body, timeout_ms, signal } = question
  signal?.throwIfAborted()
  const stop = new AbortController()
  const timer = setTimeout(() => stop.abort(`nothing within ${timeout_ms / 1000} seconds`), timeout_ms)
  const forward = () => stop.abort()
  signal?.addEventListener('abort', forward, { once: true })
  try {
    const send = question.fetch ?? globalThis.fetch
    const response = await send(url, {
      method: method ?? (body === undefined ? 'GET' : 'POST'),
      ...(headers === undefined ? {} : { headers }),
      ...(body === undefined ? {} : { body }),
      // A redirected POST becomes a GET, and a captive portal's page is no answer of the service.
      redirect: 'manual',
      signal: stop.signal,
    })
    return { status: response.status, headers: response.headers, body: parse(await response.text()) }
  } catch (cause) {
    signal?.throwIfAborted()
    const why = stop.signal.aborted ? String(stop.signal.reason) : causeOf(cause)
    throw new TributaryError('unavailable', {
      status: 0,
      message: `No answer from ${new URL(url).origin} (${why}).`,
      cause,
    })
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', forward)
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function causeOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown cause'
  const code = (error.cause as { code?: unknown } | undefined)?.code
  return typeof code === 'string' ? code : error.message
}

/** The TributaryError that an answer becomes: the service's code, else `unexpected_answer`. */
export function errorOf({ status, headers, body }: Answer, now_ms = Date.now()): TributaryError {
  const told = (typeof body === 'object' && body !== null ? body : {}) as Record<string, unknown>
  const text = (name: string) => (typeof told[name] === 'string' ? told[name] : undefined)
  const code = status >= 400 ? text('error') : undefined
  return new TributaryError(code ?? 'unexpected_answer', {
    status,
    field: text('field'),
    request_id: text('request_id') ?? headers.get('x-request-id') ?? undefined,
    retry_after_ms: retryAfterMs(headers.get('retry-after'), now_ms),
    message: text('message') ?? code ?? `The service answered ${status}.`,
  })
}

/** `Retry-After` in its two forms, seconds and HTTP date; undefined without a readable one. */
export function retryAfterMs(value: string | null, now_ms: number): number | undefined {
  if (value === null) return undefined
  if (/^\d{1,9}$/.test(value)) return Number(value) * 1000
  const at_ms = Date.parse(value)
  return Number.isNaN(at_ms) ? undefined : Math.max(0, at_ms - now_ms)
}

/** The address of a service without a slash at its end. Throws TributaryError `bad_options`. */
export function baseUrl(url: string): string {
  if (!/^https?:\/\/[^/]/.test(url)) throw badOptions(`url is no http or https address: ${url}`)
  return url.replace(/\/+$/, '')
}

/** A header value that can be sent as it is. Throws TributaryError `bad_options`. */
export function credential(name: string, value: string): string {
  if (typeof value === 'string' && /^[\x21-\x7e]+$/.test(value)) return value
  throw badOptions(`${name} is missing or holds characters that no header can carry.`)
}

export const badOptions = (message: string): TributaryError => new TributaryError('bad_options', { status: 0, message })
