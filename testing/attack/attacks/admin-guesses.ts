import { randomBytes } from 'node:crypto'
import { keptConnection } from '../../fuzz/connection.ts'
import { attacker_ip } from '../addresses.ts'
import { answerName } from '../answers.ts'
import type { Attack, Target } from '../attack.ts'
import { inParallel, rest } from '../send.ts'

const clients = 20
const pause_ms = 10
/** A client on the service's own machine, which the fence accepts. */
const neighbour_ip = '127.0.0.9'

/** Spellings of fenced paths. */
const spellings = [
  '/metrics',
  '/%6detrics',
  '/metrics/',
  '//metrics',
  '/./metrics',
  '/event/../metrics',
  '/METRICS',
  '/metrics?x=1',
  '/metrics;x',
  'http://127.0.0.1/metrics',
  '/admin',
  '/admin/',
  '/%61dmin/api/v1/status',
  '/admin/api/v1/status',
  '//admin/api/v1/status',
  '/admin%2fapi/v1/status',
  '/admin/api/v1/status/',
]

/** The attacker looks for a way around the fence; from inside, it guesses the admin token. */
export const adminGuesses: Attack = {
  name: 'admin-guesses',
  what: `${clients} clients try odd spellings of /metrics and /admin from outside, and admin tokens from inside`,
  expected: ['404 not_found', '401 invalid_admin_token', '429 rate_limited'],
  allowed: ['400 bad_json'],
  async run(target) {
    await inParallel(target, clients, async (client) => {
      const connection = keptConnection(target.port)
      for (let n = client; !target.signal.aborted; n += 1) {
        const path = spellings[n % spellings.length]!
        await guess(target, connection, path, attacker_ip)
        await guess(target, connection, '/admin/api/v1/status', neighbour_ip)
        await rest(target, pause_ms)
      }
      connection.close()
    })
  },
}

async function guess(target: Target, connection: ReturnType<typeof keptConnection>, path: string, from: string) {
  const token = randomBytes(32).toString('hex')
  const head = `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Forwarded-For: ${from}\r\nAuthorization: Bearer ${token}\r\n\r\n`
  const { answers } = await connection.exchange(Buffer.from(head), 'GET')
  const [answer] = answers
  target.answers.count(answer === undefined ? 'no answer' : answerName(answer.status, answer.body.toString()))
}
