import { randomBytes } from 'node:crypto'
import { declaredRoutes } from '@tributary/standalone/declared-routes'
import type { Attack, Target } from '../attack.ts'
import { inParallel, send } from '../send.ts'

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
  expected: ['302', '404 not_found', '429 rate_limited', '403 address_blocked'],
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
