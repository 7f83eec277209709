import { randomUUID } from 'node:crypto'
import { declaredRoutes } from '@tributary/standalone/declared-routes'
import type { Attack, Target } from '../attack.ts'
import { rest, sendSigned } from '../send.ts'

const year_ms = 365.25 * 86_400_000
const installs = Array.from({ length: 12 }, () => randomUUID())
const years = 16
const pause_ms = 1000

/** A holder of an app's secret dates events as far back as they are taken. */
export const manyYears: Attack = {
  name: 'many-years',
  what: `a request each second with events of ${installs.length} installs, one of each of ${years} years`,
  expected: ['200'],
  allowed: [],
  waits: true,
  run: (target) => sendOverYears(target, years),
  ordinary: (target) => sendOverYears(target, 1),
}

async function sendOverYears(target: Target, spread: number) {
  while (!target.signal.aborted) {
    const now_ms = Date.now()
    const events = installs.flatMap((install_uuid) =>
      Array.from({ length: years }, (_, n) => ({
        ...{ event_id: randomUUID(), event_name: 'level_up', install_uuid },
        event_ts_ms: Math.round(now_ms - (n % spread) * year_ms),
      })),
    )
    await sendSigned(target, declaredRoutes.sendBatch.path, Buffer.from(JSON.stringify({ events })), false)
    await rest(target, pause_ms)
  }
}
