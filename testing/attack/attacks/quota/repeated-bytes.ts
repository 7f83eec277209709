import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { limits } from '@tributary/contracts/limits'
import { declaredRoutes } from '@tributary/standalone/declared-routes'
import type { Attack, Target } from '../../attack.ts'
import { inParallel, sendSigned } from '../../send.ts'
import { bytesBelow, storedOf } from '../../stored.ts'

const clients = 4
/** A short attack sends so many more: its bytes must stand out. */
const bodies_min = 8
const event = { event_id: 'the-same', event_name: 'level_up', install_uuid: 'the-same' }
/** Disk that each byte of the month may take: once in the audit store, once in the log. */
const disk_bytes_per_byte = 2
/** Bytes that the victim's events may take. */
const other_bytes_max = 2 * 1024 * 1024

/** 983 KB in 500 copies of one event, which count once. */
function copies(change: object): Buffer<ArrayBuffer> {
  const one = () => ({ ...event, event_ts_ms: Date.now(), pad: randomBytes(1360).toString('base64'), ...change })
  return Buffer.from(JSON.stringify({ events: Array.from({ length: limits.sdk_batch_events_max }, one) }))
}

const log_bytes = new WeakMap<Target, number>()
const logBytes = ({ data_dir }: Target) => bytesBelow(join(data_dir, 'log'))

/** The attacker fills the disk with events that use nearly nothing of the quota. */
export const repeatedBytes: Attack = {
  name: 'repeated-bytes',
  what: `${clients} clients send bodies of 1 MB that hold one event 500 times, or events that are all rejected`,
  expected: ['200'],
  allowed: ['429 cap_exceeded', '503 unavailable'],
  monthly_quota: 100_000,
  async run(target) {
    log_bytes.set(target, logBytes(target))
    const { path } = declaredRoutes.sendBatch
    const step = (client: number) => sendSigned(target, path, copies(client % 2 === 0 ? {} : { event_name: '' }), false)
    await inParallel(target, clients, step)
    for (let n = 0; n < bodies_min; n += 1) await step(n)
  },
  async check(target) {
    const { data_dir, attacker } = target
    const used = await readUsage(target)
    const stored = storedOf(data_dir, attacker.app_id).bytes + logBytes(target) - log_bytes.get(target)!
    const faults: string[] = []
    if (stored > disk_bytes_per_byte * used.body_bytes + other_bytes_max)
      faults.push(`${stored} bytes were stored, and ${used.body_bytes} counted`)
    if (used.body_bytes > used.body_bytes_max)
      faults.push(`${used.body_bytes} bytes counted, ${used.body_bytes_max} are allowed`)
    return faults
  },
}

async function readUsage({ url, data_dir, attacker }: Target): Promise<CompanyUsage> {
  const token = readFileSync(join(data_dir, 'admin-token'), 'utf8').trim()
  const headers = { authorization: `Bearer ${token}` }
  return (
    await fetch(`${url}/admin/api/v1/companies/${attacker.company_id}/usage`, { headers })
  ).json() as Promise<CompanyUsage>
}

interface CompanyUsage {
  body_bytes: number
  body_bytes_max: number
}
