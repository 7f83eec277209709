import { randomBytes } from 'node:crypto'
import { limits } from '@tributary/contracts/limits'
import type { Attack } from '../attack.ts'
import { inParallel } from '../send.ts'
import { eventHead, sendPart } from '../send-part.ts'

const connections = 100

/** The attacker sends large bodies without their last byte, so that they stay in memory. It needs no signature. */
export const heldBackBodies: Attack = {
  name: 'held-back-bodies',
  what: `${connections} connections hold the last byte of 1 MiB back, half with made-up keys, half with the public keys of an app`,
  expected: ['503 unavailable'],
  // Connections without memory may wait until `request_wait_ms_max` or `silence_ms_max`.
  allowed: ['408 bad_json', 'closed'],
  async run(target) {
    const { company_key, app_key } = target.attacker
    const part = (company: string, app: string) =>
      Buffer.concat([
        Buffer.from(
          eventHead(limits.sdk_body_bytes_max, {
            'x-service-company-key': company,
            'x-service-app-key': app,
            'x-service-signature': '0'.repeat(64),
          }),
        ),
        Buffer.alloc(limits.sdk_body_bytes_max - 1, ' '),
      ])
    const made_up = part(`co_live_${randomBytes(16).toString('hex')}`, `app_live_${randomBytes(16).toString('hex')}`)
    const known = part(company_key, app_key)
    await inParallel(target, connections, (client) => sendPart(target, client % 2 === 0 ? made_up : known))
  },
}
