import { TributaryError } from './tributary-error.ts'

/** A response of the service. */
export interface Answer {
  status: number
  headers: Headers
  /** The parsed JSON; undefined when the body is not JSON. */
  body: unknown
}

export interface RequestOptions {
  method?: string | undefined
  headers?: Record<string, string> | Headers | undefined
  body?: string | Uint8Array<ArrayBuffer> | undefined
  /** Includes connecting and reading the answer. */
  timeout_ms: number
  signal?: AbortSignal | undefined
  fetch?: typeof globalThis.fetch | undefined
}

/**
 * Sends one request. Any answer resolves, whatever its status. Throws TributaryError `unavailable` when no answer came,
 * and the reason of `signal` when `signal` ended the request.
 */
export async function sendRequest(url: string, options: RequestOptions): Promise<Answer> {
  const { method, headers, body, timeout_ms, signal } = options
  signal?.throwIfAborted()
  const stop = new AbortController()
  const timer = setTimeout(() => stop.abort(`timed out after ${timeout_ms / 1000} seconds`), timeout_ms)
  const forward = () => stop.abort()
  signal?.addEventListener('abort', forward, { once: true })
  try {
    const send = options.fetch ?? globalThis.fetch
    const response = await send(url, {
      method: method ?? (body === undefined ? 'GET' : 'POST'),
      ...(headers === undefined ? {} : { headers }),
      ...(body === undefined ? {} : { body }),
      // A redirected POST becomes a GET, and a captive portal's page is not the service's answer.
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

/**
 * A `fetch` that leaves the body of a successful answer unread, so that `sendRequest` does not read it into memory.
 * `opened` gives that answer.
 */
export function unreadFetch(fetch: typeof globalThis.fetch = globalThis.fetch) {
  const responses: Response[] = []
  const send: typeof globalThis.fetch = async (...sent) => {
    const response = await fetch(...sent)
    if (!response.ok) return response
    responses.push(response)
    return new Response(null, { status: response.status, headers: response.headers })
  }
  return { fetch: send, opened: () => responses.at(-1) }
}

/** The body of an answer as text. Throws TributaryError `unavailable` when the connection breaks off. */
export async function* textOf({ body }: Response): AsyncGenerator<string> {
  const reader = body?.getReader()
  const decoder = new TextDecoder()
  try {
    for (let part = await reader?.read(); part?.value !== undefined; part = await reader?.read()) {
      yield decoder.decode(part.value, { stream: true })
    }
  } catch (cause) {
    const message = `The service broke off its answer (${causeOf(cause)}): it is incomplete.`
    throw new TributaryError('unavailable', { status: 0, message, cause })
  } finally {
    await reader?.cancel().catch(() => {})
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

/** Turns an answer into a TributaryError with the service's code, or `unexpected_answer` without one. */
export function errorOf({ status, headers, body }: Answer, now_ms = Date.now()): TributaryError {
  const fields = (typeof body === 'object' && body !== null ? body : {}) as Record<string, unknown>
  const text = (name: string) => (typeof fields[name] === 'string' ? fields[name] : undefined)
  const code = status >= 400 ? text('error') : undefined
  return new TributaryError(code ?? 'unexpected_answer', {
    status,
    field: text('field'),
    request_id: text('request_id') ?? headers.get('x-request-id') ?? undefined,
    retry_after_ms: retryAfterMs(headers.get('retry-after'), now_ms),
    message: text('message') ?? code ?? `The service answered ${status}.`,
  })
}

/** Reads `Retry-After` as seconds or as an HTTP date; undefined when absent or unreadable. */
export function retryAfterMs(value: string | null, now_ms: number): number | undefined {
  if (value === null) return undefined
  if (/^\d{1,9}$/.test(value)) return Number(value) * 1000
  const at_ms = Date.parse(value)
  return Number.isNaN(at_ms) ? undefined : Math.max(0, at_ms - now_ms)
}

/** The address of a service without a trailing slash. Throws TributaryError `bad_options`. */
export function baseUrl(url: string): string {
  if (!/^https?:\/\/[^/]/.test(url)) throw badOptions(`url is not an http or https address: ${url}`)
  return url.replace(/\/+$/, '')
}

/** Checks that a header can carry the value. Throws TributaryError `bad_options`. */
export function credential(name: string, value: string): string {
  if (typeof value === 'string' && /^[\x21-\x7e]+$/.test(value)) return value
  throw badOptions(`${name} is missing or holds characters that no header can carry.`)
}

export const badOptions = (message: string): TributaryError => new TributaryError('bad_options', { status: 0, message })
