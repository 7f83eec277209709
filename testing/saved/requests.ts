import { createHmac } from 'node:crypto'
import { gunzipSync, gzipSync } from 'node:zlib'
import { type AppleTwin, type SkanVersion, skanVersions } from '../postback/apple-twin.ts'
import { type Fields, writeJson } from '../postback/json.ts'
import type { Names } from './names.ts'
import { admin_token } from './product.ts'
import type { Answer, SendStep } from './steps.ts'

/** What outcomes hold of the headers of an answer. */
const kept_headers = [
  ...['location', 'allow', 'retry-after', 'cache-control', 'content-disposition', 'x-request-id'],
  ...['x-service-quota-used', 'x-service-quota-limit', 'ratelimit-limit', 'ratelimit-remaining', 'ratelimit-reset'],
  ...['x-missing-rates', 'x-whole-days', 'x-groups-folded', 'x-rewritten-at-ms'],
]

/**
 * Fields that say how long something took, when a consumer came to it or a counter was written, ids that are drawn for one answer, and rows of a certificate that
 * follow from which of two partitions was written first: a claim that lost when it was written has none.
 */
const dropped_fields = new Set([
  ...['elapsed_ms', 'latency_ms', 'request_id', 'seconds', 'decided_at_ms', 'last_used_ms', 'requests_24h'],
  ...['revenue_raw_v1', 'transaction_keys_v1', 'money_days_v1'],
])

export interface Sender {
  url(): string
  names: Names
  apple: AppleTwin
}

/** Sends the request of a step, `{{n}}` being its repetition, and keeps what the step names. */
export async function send({ url, names, apple }: Sender, step: SendStep, n: number): Promise<Omit<Answer, 'step'>> {
  names.set('url', url())
  const fill = (text: string) => names.fill(text.replaceAll('{{n}}', String(n)))
  const [method = '', path = ''] = fill(step.send).split(' ')
  const body = bodyOf(step, fill, apple)
  const headers = headersOf(step, fill, names, path, body)
  const answer = await fetch(url() + path, { method, headers, redirect: 'manual', ...(body !== undefined && { body }) })
  const bytes = Buffer.from(await answer.arrayBuffer())
  const text = (bytes[0] === 0x1f && bytes[1] === 0x8b ? gunzipSync(bytes) : bytes).toString()
  if (answer.status < 400) keep(step, text, answer.headers.get('location'), names)
  return {
    asked: names.hide(`${method} ${path}`),
    status: answer.status,
    ...shownHeaders(answer.headers, names, headers.has('x-request-id')),
    ...(text !== '' && { body: shownBody(names.hide(text)) }),
  }
}

function bodyOf({ body, gzip, apple }: SendStep, fill: (text: string) => string, twin: AppleTwin): Buffer | undefined {
  if (body === undefined) return undefined
  const filled = fill(typeof body === 'string' ? body : JSON.stringify(body))
  const bytes = Buffer.from(apple === undefined ? filled : signed(apple, JSON.parse(filled) as Fields, twin))
  return gzip ? gzipSync(bytes) : bytes
}

/** Fields that stand beside the JWS of AdAttributionKit. */
const beside_jws = new Set(['conversion-value', 'coarse-conversion-value', 'country-code'])

function signed(apple: string, fields: Fields, twin: AppleTwin): string {
  if (skanVersions.includes(apple as SkanVersion)) return writeJson(twin.signSkan(apple as SkanVersion, fields))
  const parts = Object.groupBy(Object.entries(fields), ([name]) => (beside_jws.has(name) ? 'beside' : 'inside'))
  const jws = twin.signAak(Object.fromEntries(parts.inside ?? []), { kid: apple, alg: 'ES256' })
  return writeJson({ 'jws-string': jws, ...Object.fromEntries(parts.beside ?? []) })
}

function headersOf(step: SendStep, fill: (text: string) => string, names: Names, path: string, body?: Buffer): Headers {
  const { as, key, ip, agent, gzip } = step
  const headers = new Headers({ 'content-type': 'application/json', 'user-agent': agent ?? 'saved/1' })
  if (path.startsWith('/admin/')) headers.set('authorization', `Bearer ${admin_token}`)
  if (gzip) headers.set('content-encoding', 'gzip')
  if (ip !== undefined) headers.set('x-forwarded-for', fill(ip))
  if (key !== undefined) headers.set('authorization', `Bearer ${names.get(key)}`)
  if (as !== undefined) {
    const [company, app] = as.split('/')
    headers.set('x-service-company-key', names.get(`${company}.company_key`))
    headers.set('x-service-app-key', names.get(`${app}.app_key`))
    const secret = names.get(`${app}.signing_secret`)
    if (body !== undefined) headers.set('x-service-signature', createHmac('sha256', secret).update(body).digest('hex'))
  }
  for (const [name, value] of Object.entries(step.headers ?? {})) headers.set(name, fill(value))
  return headers
}

function keep({ keep: kept = {}, keep_click }: SendStep, text: string, location: string | null, names: Names): void {
  for (const [name, field] of Object.entries(kept)) {
    const value = (JSON.parse(text) as Record<string, unknown>)[field]
    if (typeof value !== 'string') throw new Error(`${field} is not in ${text}`)
    names.set(name, value)
  }
  if (keep_click === undefined) return
  const click = /tb_click=([\w-]+\.\w+)/.exec(decodeURIComponent(decodeURIComponent(location ?? '')))?.[1]
  if (click === undefined) throw new Error(`no click in ${location}`)
  names.set(keep_click, click)
  names.set(`${keep_click}.id`, click.split('.')[0]!)
}

function shownHeaders(headers: Headers, names: Names, sent_id: boolean): Pick<Answer, 'headers'> {
  const type = headers.get('content-type')?.split(';')[0]
  const shown = kept_headers.flatMap((name) => {
    const value = name === 'x-request-id' && !sent_id ? null : headers.get(name)
    return value === null ? [] : [[name, names.hide(value)]]
  })
  if (type !== undefined && type !== 'application/json') shown.push(['content-type', type])
  if (headers.has('etag')) shown.push(['etag', headers.get('etag')!.startsWith('W/') ? 'weak' : 'strong'])
  return shown.length > 0 ? { headers: Object.fromEntries(shown) } : {}
}

/** JSON without what differs from replay to replay; of lines of progress the last; any other text as it is. */
function shownBody(text: string): unknown {
  const lines = text.trimEnd().split('\n')
  try {
    const parsed = lines.map((line) =>
      JSON.parse(line, (name, value) => (dropped_fields.has(name) ? undefined : value)),
    )
    return parsed.length === 1 || 'percent' in parsed[0] ? parsed.at(-1) : parsed
  } catch {
    return text
  }
}
