import { randomBytes } from 'node:crypto'
import { limits } from '@tributary/contracts/limits'
import type { Attack, PublicKeys, Target } from '../attack.ts'
import { inParallel } from '../send.ts'
import { eventHead, sendPart } from '../send-part.ts'

const connections = 120
const addresses = 250
/** Time between two parts of a body without an end: fast enough for `body_bytes_per_s_min`. */
const part_ms = 250
const part_bytes = 16 * 1024

const unsigned = ({ company_key, app_key }: PublicKeys) => ({
  'x-service-company-key': company_key,
  'x-service-app-key': app_key,
  'x-service-signature': '0'.repeat(64),
})
const addressOf = (n: number) => ({ 'x-forwarded-for': `203.0.113.${n % addresses}` })

/** The attacker sends large bodies without their last byte, so that they stay in memory. It needs no signature. */
export const heldBackBodies: Attack = {
  name: 'held-back-bodies',
  what: `${connections} connections from ${addresses} addresses hold the last byte of 1 MiB back, with made-up keys and with the public keys of two apps`,
  expected: ['503 unavailable'],
  // Connections without memory may wait until `request_wait_ms_max` or `silence_ms_max`.
  allowed: ['408 bad_json', '408 request_timeout', 'closed'],
  async run(target) {
    const body = Buffer.alloc(limits.sdk_body_bytes_max - 1, ' ')
    let sent = 0
    await inParallel(target, connections, (client) => {
      const headers = { ...unsigned(keysOf(target, client)), ...addressOf(sent++) }
      const head = Buffer.from(eventHead(limits.sdk_body_bytes_max, headers))
      return sendPart(target, Buffer.concat([head, body]))
    })
  },
}

/** The attacker sends bodies that never end, as slowly as they may come: they hold memory for longest. */
export const endlessBodies: Attack = {
  name: 'endless-bodies',
  what: `${connections} connections from ${addresses} addresses send bodies without an end, with the public keys of two apps and a wrong signature`,
  expected: ['503 unavailable'],
  allowed: ['408 bad_json', '408 request_timeout', '413 body_too_large', 'closed'],
  async run(target) {
    const part = Buffer.from(`${part_bytes.toString(16)}\r\n${' '.repeat(part_bytes)}\r\n`)
    const first = Buffer.concat(Array(20).fill(part))
    let sent = 0
    await inParallel(target, connections, (client) => {
      const headers = { ...unsigned(keysOf(target, 2 * client + 1)), ...addressOf(sent++) }
      const head = Buffer.from(eventHead('endless', headers))
      return sendPart(target, Buffer.concat([head, first]), (socket) => {
        const dripping = setInterval(() => socket.write(part), part_ms)
        socket.once('close', () => clearInterval(dripping))
      })
    })
  },
}

/** Made-up keys for even clients, and for odd ones those of the attacker and of the victim in turn. */
function keysOf({ attacker, victim }: Target, client: number): PublicKeys {
  if (client % 4 === 1) return attacker
  if (client % 4 === 3) return victim
  const made_up = randomBytes(16).toString('hex')
  return { company_key: `co_live_${made_up}`, app_key: `app_live_${made_up}` }
}
