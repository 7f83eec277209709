import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { Delivery, PartnerOfApp } from '@tributary/contracts/admin/partners'
import { CodedError } from '@tributary/contracts/errors'
import { limits } from '@tributary/contracts/limits'
import { listDeliveries } from '@tributary/tables/partners/deliveries'
import { addOwed, findEndedKey } from '@tributary/tables/partners/due-postbacks'
import { findPartner, unknownPartner } from '@tributary/tenancy/companies/partner-settings'
import type { AdminApiDeps } from '../deps.ts'
import { findExample } from './preview.ts'

/** Between two looks whether it was sent. */
const look_pause_ms = 100

/**
 * Has a forwarder send one postback and waits for what became of it. It is owed like any other one, under a key that nothing else has,
 * so that one service alone sends anything to partners.
 */
export async function sendTest(
  deps: Pick<AdminApiDeps, 'pool' | 'clickhouse' | 'now'>,
  named: PartnerOfApp,
): Promise<Delivery> {
  const { pool, clickhouse, now } = deps
  const { app_id, partner } = named
  const settings = await findPartner(pool, named)
  if (settings === null) throw unknownPartner()
  const { content, dated_at_ms } = await findExample(deps, named)
  const key = { app_id, install_uuid: `${content.install_uuid}`, event_key: `test/${randomUUID()}`, partner }
  const { settings_id } = settings
  await addOwed(pool, [{ ...key, settings_id, content, received_at_ms: now(), dated_at_ms }], now())
  const deadline = performance.now() + limits.partner_test_ms_max
  while (performance.now() < deadline) {
    const idempotency_key = await findEndedKey(pool, key)
    if (idempotency_key !== null) {
      const [delivery] = await listDeliveries(clickhouse, { app_id, partner, limit: 1, keys: [idempotency_key] })
      if (delivery !== undefined) return delivery
    }
    await pause(look_pause_ms)
  }
  throw new CodedError('unavailable', { message: 'No postback-forwarder has sent it: does one run?' })
}
