import { type Answer, badOptions, baseUrl, credential, sendRequest } from '../http.ts'
import { limits } from '../limits.ts'

export interface SdkCredentials {
  /** Address of the service, such as `https://events.example.com`. */
  url: string
  /** `co_live_...` */
  company_key: string
  /** `app_live_...` */
  app_key: string
  /** Used as its UTF-8 text. */
  signing_secret: string
}

export interface SdkPostOptions extends SdkCredentials {
  /** `X-Service-Sdk`, `<brand>-<version>`. */
  sdk: string
  /** `X-Service-Platform`. */
  platform?: string | undefined
  /** A batch of this many events is compressed; 10 when absent. */
  gzip_events_min?: number | undefined
  timeout_ms: number
  now: () => number
  fetch?: typeof globalThis.fetch | undefined
  /** Sent with each request besides its own. */
  headers?: Record<string, string> | undefined
}

/** Sends events, given as JSON, in one signed `POST /event`. Resolves with any answer; throws as `sendRequest` does. */
export type SdkPost = (events: readonly string[], signal?: AbortSignal) => Promise<Answer>

/**
 * Posts batches to `/event`: gzip from 10 events, HMAC-SHA256 in lower-case hex over the very
 * bytes that are sent, `sent_at_ms` of each attempt (an old one would look like a wrong clock). Throws TributaryError
 * `bad_options`.
 */
export function createSdkPost(options: SdkPostOptions): SdkPost {
  const { timeout_ms, now, fetch, gzip_events_min = limits.gzip_events_min } = options
  const address = `${baseUrl(options.url)}/event`
  const sign = createSigner(options.signing_secret)
  const fixed = {
    ...options.headers,
    'content-type': 'application/json',
    'x-service-sdk': credential('sdk', options.sdk),
    'x-service-company-key': credential('company_key', options.company_key),
    'x-service-app-key': credential('app_key', options.app_key),
    ...(options.platform === undefined ? {} : { 'x-service-platform': credential('platform', options.platform) }),
  }
  return async (events, signal) => {
    const json = utf8(`{"events":[${events.join(',')}],"sent_at_ms":${Math.round(now())}}`)
    const packed = events.length >= gzip_events_min || json.length > limits.sdk_body_bytes_max
    const body = packed && 'CompressionStream' in globalThis ? await gzip(json) : json
    if (body.length > limits.sdk_body_bytes_max) return too_large
    const headers = {
      ...fixed,
      ...(body === json ? {} : { 'content-encoding': 'gzip' }),
      'x-service-signature': await sign(body),
    }
    return sendRequest(address, { body, headers, signal, timeout_ms, fetch })
  }
}

/** The answer that the service would give. It is known beforehand, so no request is sent. */
const too_large: Answer = { status: 413, headers: new Headers(), body: { error: 'body_too_large' } }

const utf8 = (text: string): Uint8Array<ArrayBuffer> => new TextEncoder().encode(text)

function createSigner(signing_secret: string): (body: Uint8Array<ArrayBuffer>) => Promise<string> {
  // The secret may be any text: no header carries it.
  if (!signing_secret) throw badOptions('signing_secret is missing.')
  const algorithm = { name: 'HMAC', hash: 'SHA-256' }
  const importKey = () => crypto.subtle.importKey('raw', utf8(signing_secret), algorithm, false, ['sign'])
  let imported: ReturnType<typeof importKey> | null = null
  return async (body) => {
    imported ??= importKey()
    const signature = new Uint8Array(await crypto.subtle.sign('HMAC', await imported, body))
    return Array.from(signature, (byte) => byte.toString(16).padStart(2, '0')).join('')
  }
}

async function gzip(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
  const packed = new Blob([bytes]).stream().pipeThrough(new CompressionStream('gzip'))
  return new Uint8Array(await new Response(packed).arrayBuffer())
}
