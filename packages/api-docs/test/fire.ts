import { type IncomingHttpHeaders, request } from 'node:http'
import { createChecker, type DocumentedOperation, operations } from './document.ts'
import type { Shot } from './shot.ts'

const check = createChecker(true)

/** Sends it, puts `POST /path code` into `seen`, and says what of the answer the document does not know. */
export async function fire(base_url: string, shot: Shot, seen: Set<string>): Promise<string[]> {
  const { route, code } = shot
  const { status, headers, text } = await sendUntil(base_url, shot)
  const type = headers['content-type']?.split(';')[0] ?? ''
  const value = type === 'application/json' ? JSON.parse(text) : text
  const got = (value as { error?: string }).error ?? 'ok'
  seen.add(`${route} ${got}`)
  const operation = operations.find((one) => one.route === route) as DocumentedOperation
  const response = operation.responses[status]
  const where = `${route} ${code}`
  if (got !== code) return [`${where}: answered ${status} ${text.slice(0, 200)}`]
  if (response === undefined) return [`${where}: ${status} is not documented`]
  const schema = response.content?.[type]?.schema
  const isEmpty = response.content === undefined && text === ''
  if (schema === undefined && !isEmpty) return [`${where}: ${type} is not documented`]
  const fault = schema === undefined ? null : check(schema, value)
  const documented = Object.keys(response.headers ?? {}).map((name) => name.toLowerCase())
  const unknown = Object.keys(headers).filter(
    (name) =>
      /^(ratelimit|x-|retry|allow|www|etag)/.test(name) &&
      !documented.includes(name) &&
      name !== 'x-content-type-options',
  )
  return [
    ...(fault === null ? [] : [`${where}: ${fault}`]),
    ...unknown.map((name) => `${where}: header ${name} is not documented`),
    ...(headers['x-request-id'] ? [] : [`${where}: no X-Request-Id`]),
  ]
}

/** Tries of a shot with `again_after`: the last of their waits is minutes long. */
const tries_max = 10

async function sendUntil(base_url: string, shot: Shot): Promise<Answer> {
  for (let left = tries_max - 1; ; left -= 1) {
    const answer = await send(base_url, shot)
    if (left === 0 || shot.again_after === undefined || !answer.text.includes(`"error":"${shot.again_after}"`))
      return answer
  }
}

interface Answer {
  status: number
  headers: IncomingHttpHeaders
  text: string
}

function send(base_url: string, { route, path, headers, body: given, announced_bytes }: Shot): Promise<Answer> {
  const body = typeof given === 'function' ? given() : given
  const [method, template = ''] = route.split(' ')
  const { promise, resolve, reject } = Promise.withResolvers<Answer>()
  const length = announced_bytes ?? (body === undefined ? undefined : Buffer.byteLength(body))
  const all = { ...headers, ...(length === undefined ? {} : { 'content-length': length }) }
  const asked = request(base_url + (path ?? template), { method, headers: all, agent: false }, (answer) => {
    let text = ''
    answer.setEncoding('utf8').on('data', (part) => {
      text += part
    })
    answer.on('end', () => {
      resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text })
      asked.destroy()
    })
  })
  asked.on('error', reject)
  if (announced_bytes === undefined) asked.end(body)
  else asked.flushHeaders()
  return promise
}
