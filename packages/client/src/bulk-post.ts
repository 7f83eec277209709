import { type Answer, ask, baseUrl, credential } from './http.ts'

export interface ServerPostOptions {
  /** Address of the service, such as `https://events.example.com`. */
  url: string
  /** `srv_...`; it is bound to one app. */
  server_key: string
  timeout_ms: number
  fetch?: typeof globalThis.fetch | undefined
  /** Sent with each request besides its own. */
  headers?: Record<string, string> | undefined
}

/** One `POST /s2s/events/bulk` with these events, given as JSON. Resolves with any answer; throws as `ask` does. */
export type BulkPost = (events: readonly string[], signal?: AbortSignal) => Promise<Answer>

/** Posts bulk requests. Throws TributaryError `bad_options`. */
export function createBulkPost(options: ServerPostOptions): BulkPost {
  const { timeout_ms, fetch } = options
  const address = `${baseUrl(options.url)}/s2s/events/bulk`
  const headers = { ...bearer(options), 'content-type': 'application/json' }
  return (events, signal) =>
    ask(address, { body: `{"events":[${events.join(',')}]}`, headers, signal, timeout_ms, fetch })
}

/** The headers that every keyed request carries. */
export const bearer = ({ server_key, headers }: ServerPostOptions): Record<string, string> => ({
  ...headers,
  authorization: `Bearer ${credential('server_key', server_key)}`,
})
