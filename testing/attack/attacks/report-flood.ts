import type { Attack } from '../attack.ts'
import { inParallel, rest, send } from '../send.ts'

const clients = 300

/** The attacker requests more reports at once than the engine can run. */
export const reportFlood: Attack = {
  name: 'report-flood',
  what: `${clients} clients request reports with one key at the same time`,
  expected: ['429 rate_limited'],
  allowed: ['200', '503 unavailable'],
  async run(target) {
    const headers = { authorization: `Bearer ${target.attacker.server_key}` }
    await inParallel(target, clients, async () => {
      const got = await send(target, '/api/v1/reports/events', { headers })
      if (got.name !== '200') await rest(target, 1000)
    })
  },
}
