import { randomUUID } from 'node:crypto'
import { day_ms } from '@tributary/contracts/limits'
import { declaredRoutes } from '@tributary/standalone/declared-routes'
import type { Attack } from '../../attack.ts'
import { countEvents } from '../../reports.ts'
import { rest, sendSigned } from '../../send.ts'

const monthly_quota = 1000

/** 500 events with 25 ids on 20 days. Each counts, because a duplicate has both the id and the day of another event. */
function batch(): Buffer<ArrayBuffer> {
  const install_uuid = randomUUID()
  const events = Array.from({ length: 500 }, (_, n) => ({
    event_id: `attack-${n % 25}`,
    event_name: 'level_up',
    install_uuid,
    event_ts_ms: Date.now() - Math.floor(n / 25) * day_ms,
  }))
  return Buffer.from(JSON.stringify({ events }))
}

/** The attacker tries to get more events accepted than its quota. */
export const quotaEvasion: Attack = {
  name: 'quota-evasion',
  what: `an app with a quota of ${monthly_quota} sends events with equal ids on other days`,
  expected: ['429 cap_exceeded'],
  allowed: ['200'],
  monthly_quota,
  async run(target) {
    while (!target.signal.aborted) {
      await sendSigned(target, declaredRoutes.sendBatch.path, batch(), false)
      await rest(target, 50)
    }
  },
  async check({ url, attacker }) {
    const events = await countEvents(url, attacker)
    return events > monthly_quota ? [`${events} events of a company with a quota of ${monthly_quota}`] : []
  },
}
