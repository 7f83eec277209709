import { randomUUID } from 'node:crypto'
import { limits } from '@tributary/contracts/limits'
import type { Attack } from '../attack.ts'
import { inParallel, sendSigned } from '../send.ts'
import { storedOf } from '../stored.ts'

const clients = 20
const repeated = 400
const installs = 3

/** The attacker makes the service repeat and store the same work. */
export const erasureFlood: Attack = {
  name: 'erasure-flood',
  what: `${repeated} erasure requests for ${installs} installs, then as many for new installs as the service answers`,
  expected: ['429 rate_limited'],
  allowed: ['202', '503 unavailable'],
  async run(target) {
    const requestErasure = (install_uuid: string) =>
      sendSigned(target, '/privacy/delete', Buffer.from(JSON.stringify({ install_uuid })), false)
    await Promise.all(Array.from({ length: repeated }, (_, n) => requestErasure(`same-${n % installs}`)))
    await inParallel(target, clients, () => requestErasure(randomUUID()))
  },
  async check({ data_dir, attacker, started_ms }) {
    const { objects } = storedOf(data_dir, attacker.app_id)
    const same = objects.filter((name) => name.includes('/same-'))
    if (same.length > installs) return [`${same.length} objects for ${installs} installs`]
    const windows = 1 + Math.ceil((Date.now() - started_ms) / limits.erasures_window_ms)
    const most = windows * limits.erasures_max
    return objects.length > most ? [`${objects.length} objects of erasure requests, ${most} are allowed`] : []
  },
}
