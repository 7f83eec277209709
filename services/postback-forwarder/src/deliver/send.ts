import type { Readable } from 'node:stream'
import { limits } from '@tributary/contracts/limits'
import type { DeliveryReason, PostbackContent, PostbackSettings } from '@tributary/contracts/partner-postback'
import { postbackSignature } from '@tributary/domain/partner/signature'
import { fillTemplate, postbackBody, readTemplate } from '@tributary/domain/partner/template'
import type { Agent } from 'undici'
import { TargetRefusedError, UnresolvedError } from './connect.ts'

/** A postback to send once. */
export interface Postback {
  settings: PostbackSettings
  /** Null: it is not signed. */
  secret: string | null
  content: PostbackContent
  idempotency_key: string
  test: boolean
}

/** The answer of a partner, or why there is none. */
export interface Answer {
  /** Null without an answer. */
  status: number | null
  /** Null if it was delivered. */
  reason: DeliveryReason | null
  /** Its first characters. */
  text: string
  /** Of `Retry-After`, for statuses that may carry it; null without. */
  retry_after_ms: number | null
}

/** The try without an answer. */
export const unanswered = (reason: DeliveryReason): Answer => ({ status: null, reason, text: '', retry_after_ms: null })

/** Templates that were read lately: most postbacks have one of few. */
const templates = new Map<string, ReturnType<typeof readTemplate>>()
const templates_max = 1000

function templateOf(postback_url: string): ReturnType<typeof readTemplate> {
  const known = templates.get(postback_url)
  if (known !== undefined) return known
  if (templates.size >= templates_max) templates.clear()
  const read = readTemplate(postback_url)
  templates.set(postback_url, read)
  return read
}

/**
 * Sends a postback once and reads the beginning of the answer. Redirects are not followed. Rejects only when `stop` fires; the postback
 * may have been delivered then.
 */
export async function sendPostback(
  agent: Agent,
  postback: Postback,
  now_ms: number,
  stop: AbortSignal,
): Promise<Answer> {
  const template = templateOf(postback.settings.postback_url)
  if (typeof template === 'string') return unanswered('target_refused')
  const { method } = postback.settings
  const path = fillTemplate(template, postback.content)
  const body = postbackBody(postback.settings, postback.content)
  const headers: Record<string, string> = {
    ...{ 'user-agent': 'Tributary-Postback/1', accept: '*/*', 'idempotency-key': postback.idempotency_key },
    ...(method === 'POST' && { 'content-type': 'application/json' }),
    ...(template.credentials !== null && {
      authorization: `Basic ${Buffer.from(template.credentials).toString('base64')}`,
    }),
    ...(postback.test && { 'x-tributary-test': '1' }),
  }
  if (postback.secret !== null) {
    const signed = { time_s: Math.floor(now_ms / 1000), method, path, body }
    headers['x-tributary-signature'] = postbackSignature(postback.secret, signed)
  }
  // One signal that ends with the try: `AbortSignal.timeout` would live, and make an error, long after it.
  const over = new AbortController()
  const { signal } = over
  const abort = () => over.abort()
  const timer = setTimeout(abort, limits.partner_try_ms_max)
  stop.addEventListener('abort', abort)
  try {
    stop.throwIfAborted()
    const { origin } = template.origin
    const response = await agent.request({ origin, path, method, headers, body: body === '' ? null : body, signal })
    const text = await readStart(response.body)
    const retry_after = response.headers['retry-after']
    return judge(response.statusCode, text, typeof retry_after === 'string' ? retry_after : undefined, now_ms)
  } catch (err) {
    if (stop.aborted) throw err
    return unanswered(signal.aborted ? 'timeout' : reasonOf(err))
  } finally {
    clearTimeout(timer)
    stop.removeEventListener('abort', abort)
  }
}

/** Reads so many bytes, and ends the connection where there are more. By events: an iterator of a body costs as much as its request. */
async function readStart(body: Readable): Promise<string> {
  const parts: Buffer[] = []
  let bytes = 0
  await new Promise<void>((resolve, reject) => {
    body.on('error', reject).on('end', resolve)
    body.on('data', (part: Buffer) => {
      parts.push(part)
      bytes += part.length
      if (bytes < limits.partner_answer_bytes_max) return
      resolve()
      body.destroy()
    })
  })
  const text = Buffer.concat(parts)
    .subarray(0, 4 * limits.partner_answer_chars_max)
    .toString()
    .toWellFormed()
  return text.slice(0, limits.partner_answer_chars_max).toWellFormed()
}

/** Statuses that may be better later (docs/postbacks.md#failures). */
const isPassing = (status: number): boolean => [408, 425, 429].includes(status) || status >= 500

/** Whether a try that failed is repeated. */
export const isRepeated = ({ status, reason }: Pick<Answer, 'status' | 'reason'>): boolean =>
  status === null ? reason !== 'target_refused' && reason !== 'partner_removed' : isPassing(status)

function judge(status: number, text: string, retry_after: string | undefined, now_ms: number): Answer {
  const delivered = status >= 200 && status < 300
  const waits = status === 429 || status === 503
  return {
    ...{ status, text, reason: delivered ? null : `status_${status}` },
    retry_after_ms: waits && retry_after !== undefined ? waitOf(retry_after, now_ms) : null,
  }
}

/** Seconds or a date (RFC 9110, section 10.2.3); null for anything else. */
function waitOf(retry_after: string, now_ms: number): number | null {
  if (/^\d+$/.test(retry_after)) return Number(retry_after) * 1000
  const at_ms = Date.parse(retry_after)
  return Number.isNaN(at_ms) ? null : Math.max(0, at_ms - now_ms)
}

function reasonOf(err: unknown): DeliveryReason {
  const errors = [err, ...(err instanceof AggregateError ? err.errors : [])]
  if (errors.some((one) => one instanceof TargetRefusedError)) return 'target_refused'
  if (errors.some((one) => one instanceof UnresolvedError)) return 'unresolved'
  const code = String((err as { code?: unknown }).code ?? '')
  if (/TIMEOUT|ETIMEDOUT/.test(code)) return 'timeout'
  if (/^(ERR_TLS|ERR_SSL|CERT_|UNABLE_TO|SELF_SIGNED|DEPTH_ZERO|EPROTO)/.test(code)) return 'tls'
  return /^(HPE_|UND_ERR_HEADERS|UND_ERR_RES)/.test(code) ? 'bad_answer' : 'connection'
}
