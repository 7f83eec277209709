import { randomBytes } from 'node:crypto'
import { limits } from '@tributary/contracts/limits'
import { declaredRoutes } from '@tributary/standalone/declared-routes'
import type { Attack, Target } from '../../attack.ts'
import { inParallel, send } from '../../send.ts'

const clients = 40
const phone = 'Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 Chrome/119.0.0.0 Mobile Safari/537.36'

/** A client of an IPv6 network that takes a new address for each click, and of another one that guesses links. */
const clicker = () => `2001:db8:1:${hex()}::${hex()}`
const guesser = () => `2001:db8:2:1::${hex()}`
const hex = () => randomBytes(2).toString('hex')

/** The attacker follows links as fast as it can: its own, a honeypot, and links that it guesses. */
export const clickFlood: Attack = {
  name: 'click-flood',
  what: `${clients} clients of two networks click, guess links and open a honeypot, with a new address each time`,
  expected: ['302', '404 not_found'],
  allowed: ['503 unavailable'],
  async run(target) {
    const { link_id, trap_id } = target.attacker
    const trapped = '192.0.2.66'
    await click(target, trap_id, trapped)
    await click(target, link_id, trapped)
    await inParallel(target, clients, (client) =>
      client % 2 === 0
        ? click(target, link_id, clicker())
        : click(target, randomBytes(9).toString('base64url'), guesser()),
    )
  },
}

/** The left end of `X-Forwarded-For` is the client's own lie. */
function click(target: Target, link_id: string, ip: string) {
  const path = declaredRoutes.followLink.path.replace(':link_id', link_id)
  const headers = { 'user-agent': phone, 'x-forwarded-for': `198.51.100.7, ${ip}` }
  return send(target, `${path}?sub1=${'x'.repeat(5000)}`, { method: 'GET', redirect: 'manual', headers })
}

/** A client of a network that takes a new address, of a new /64, for each postback. */
const wanderer = () => `2001:db8:3:${hex()}::1`
const large = limits.postback_body_bytes_max - 100

/** Bodies of strangers: stored ones that are new each time or the same, ones that are slow to parse, and junk. */
const postbacks: readonly (() => { path: string; body: string })[] = [
  () => ({
    path: skan,
    body: JSON.stringify({ 'transaction-id': hex(), junk: randomBytes(large / 2).toString('hex') }),
  }),
  () => ({ path: skan, body: '{"transaction-id":"forged","did-win":true}' }),
  () => ({ path: skan, body: `{"a":${'['.repeat(large / 2)}${']'.repeat(large / 2)}}` }),
  () => ({ path: skan, body: '['.repeat(large) }),
  () => ({ path: skan, body: ' '.repeat(limits.postback_body_bytes_max + 1) }),
  () => ({ path: aak, body: `e30.${'A'.repeat(large)}.${hex()}` }),
  () => ({ path: aak, body: `e30.e30.${' '.repeat(large)}x` }),
]
const { path: skan } = declaredRoutes.sendSkanPostback
const { path: aak } = declaredRoutes.sendAakPostback

/** The attacker sends postbacks as fast as it can: forged, deep, large and the same again, from one address and from many. */
export const postbackFlood: Attack = {
  name: 'postback-flood',
  what: `${clients} clients send forged, deep, large and repeated postbacks, half of them with a new address each time`,
  expected: ['200', '400 bad_json', '400 bad_jws', '413 body_too_large', '429 rate_limited'],
  allowed: ['503 unavailable'],
  async run(target) {
    let sent = 0
    await inParallel(target, clients, (client) => {
      const { path, body } = postbacks[sent++ % postbacks.length]!()
      const headers = { 'x-forwarded-for': client % 2 === 0 ? '203.0.113.99' : wanderer() }
      return send(target, path, { method: 'POST', headers, body })
    })
  },
}
