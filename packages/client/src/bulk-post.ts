import { type Answer, baseUrl, credential, sendRequest } from './http.ts'

export interface ServerPostOptions {
  /** Address of the service, such as `https://events.example.com`. */
  url: string
  /** `srv_...`; it is bound to one app. */
  server_key: string
  timeout_ms: number
  fetch?: typeof globalThis.fetch | undefined
  /** Sent with each request, in addition to the client's own headers. */
  headers?: Record<string, string> | undefined
}

/** Sends events, given as JSON, in one `POST /s2s/events/bulk`. Resolves with any answer; throws as `sendRequest` does. */
export type BulkPost = (events: readonly string[], signal?: AbortSignal) => Promise<Answer>

/** Makes a sender of bulk requests. Throws TributaryError `bad_options`. */
export function createBulkPost(options: ServerPostOptions): BulkPost {
  const { timeout_ms, fetch } = options
  const address = `${baseUrl(options.url)}/s2s/events/bulk`
  const headers = { ...bearer(options), 'content-type': 'application/json' }
  return (events, signal) =>
    sendRequest(address, { body: `{"events":[${events.join(',')}]}`, headers, signal, timeout_ms, fetch })
}

/** The headers of every request with a server key. */
export const bearer = ({ server_key, headers }: ServerPostOptions): Record<string, string> => ({
  ...headers,
  authorization: `Bearer ${credential('server_key', server_key)}`,
})
