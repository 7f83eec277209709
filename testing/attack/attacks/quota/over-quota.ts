import { randomUUID } from 'node:crypto'
import { declaredRoutes } from '@tributary/standalone/declared-routes'
import type { Attack, Target } from '../../attack.ts'
import { inParallel, sendSigned } from '../../send.ts'
import { storedOf } from '../../stored.ts'

const monthly_quota = 1000
const clients = 20
const batch_events = 500
const pad = 'x'.repeat(1000)
/** Enough for the events of one quota with their envelopes. A stored flood takes many times more. */
const stored_bytes_max = 4 * 1024 * 1024

/** 500 events of 1 KB. Events without a name are rejected. */
function batch(change: Record<string, unknown>): Buffer<ArrayBuffer> {
  const events = Array.from({ length: batch_events }, () => ({
    event_id: randomUUID(),
    event_name: 'level_up',
    install_uuid: randomUUID(),
    event_ts_ms: Date.now(),
    pad,
    ...change,
  }))
  return Buffer.from(JSON.stringify({ events }))
}

const flood = (name: string, what: string, change: Record<string, unknown>): Attack => ({
  name,
  what,
  expected: ['429 cap_exceeded'],
  allowed: ['200', '503 unavailable'],
  monthly_quota,
  async run(target: Target) {
    await inParallel(target, clients, () => sendSigned(target, declaredRoutes.sendBatch.path, batch(change), false))
  },
  async check({ data_dir, attacker }) {
    const { bytes } = storedOf(data_dir, attacker.app_id)
    return bytes > stored_bytes_max ? [`${bytes} bytes were stored for a company over its quota`] : []
  },
})

/** The attacker fills the disk although its quota is used up. */
export const overQuota = flood(
  'over-quota',
  `${clients} clients of an app with a quota of ${monthly_quota} send batches of ${batch_events} events`,
  {},
)

/** The attacker fills the disk with events that are never counted. */
export const rejectedFlood = flood(
  'rejected-flood',
  `${clients} clients of an app with a quota of ${monthly_quota} send batches of ${batch_events} events that are all rejected`,
  { event_name: '' },
)
