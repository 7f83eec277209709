import { createHmac, timingSafeEqual } from 'node:crypto'
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'

const secret = process.env.PARTNER_SECRET ?? ''
const port = Number(process.argv[2] ?? 9090)

/** Keys of the last day: a postback that comes again has the same one. */
const seen = new Map()
const day_ms = 24 * 3600 * 1000

function isSigned({ method, url, headers }, body) {
  const [, t, v1] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(headers['x-tributary-signature'] ?? '') ?? []
  if (t === undefined || Math.abs(Date.now() / 1000 - t) > 300) return false
  const own = createHmac('sha256', secret).update(`${t}.${method} ${url}.${body}`).digest()
  return timingSafeEqual(own, Buffer.from(v1, 'hex'))
}

function isNew(key) {
  for (const [old, at_ms] of seen) if (Date.now() - at_ms > day_ms) seen.delete(old)
  if (seen.has(key)) return false
  seen.set(key, Date.now())
  return true
}

const server = createServer(async (request, response) => {
  const body = await text(request)
  if (secret !== '' && !isSigned(request, body)) return response.writeHead(401).end('bad signature')
  const notified = Object.fromEntries(new URL(request.url, 'http://partner').searchParams)
  const counted = !request.headers['x-tributary-test'] && isNew(request.headers['idempotency-key'])
  console.log(JSON.stringify({ counted, ...notified }))
  response.end('ok')
})
server.listen(port, '127.0.0.1', () => console.log(`A partner listens at http://127.0.0.1:${server.address().port}`))
