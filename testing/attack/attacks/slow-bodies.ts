import type { Attack } from '../attack.ts'
import { inParallel } from '../send.ts'
import { eventHead, sendPart } from '../send-part.ts'

const connections = 100

/** The attacker keeps connections busy as long as possible. */
export const slowBodies: Attack = {
  name: 'slow-bodies',
  what: `${connections} connections send one byte of their bodies a second`,
  expected: ['408 request_timeout'],
  allowed: [],
  async run(target) {
    const { company_key, app_key } = target.attacker
    const keys = { 'x-service-company-key': company_key, 'x-service-app-key': app_key }
    const head = Buffer.from(eventHead(10_000, { ...keys, 'x-service-signature': '0'.repeat(64) }))
    await inParallel(target, connections, () =>
      sendPart(target, head, (socket) => {
        const dripping = setInterval(() => socket.write(' '), 1000)
        socket.once('close', () => clearInterval(dripping))
      }),
    )
  },
}
