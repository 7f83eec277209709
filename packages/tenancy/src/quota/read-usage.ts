import type { CompanyUsage } from '@tributary/contracts/admin/companies'
import { CodedError } from '@tributary/contracts/errors'
import type { KeyValue } from '@tributary/key-value/key-value'
import type { Pool } from 'pg'
import { getCompany } from '../companies/tenants.ts'
import { bodyBytesKey, bodyBytesMax, monthOf, quotaKey, rejectedKey } from './quota-key.ts'

/** Use of the month of a time. Throws `unknown_company`, and `unavailable` while the counters are away. */
export async function readUsage(
  { pool, keyValue }: { pool: Pool; keyValue: Pick<KeyValue, 'get'> },
  id: string,
  at_ms: number,
): Promise<CompanyUsage> {
  const { monthly_quota } = await getCompany(pool, id)
  const keys = [quotaKey(id, at_ms), rejectedKey(id, at_ms), bodyBytesKey(id, at_ms)]
  const totals = Promise.all(keys.map((key) => keyValue.get(key)))
  const [used, rejected, body_bytes] = await totals.catch((cause: unknown) => {
    throw new CodedError('unavailable', { message: 'The counters are away.', cause })
  })
  return {
    ...{ company_id: id, month: monthOf(at_ms), used: used ?? 0, rejected: rejected ?? 0 },
    ...{ body_bytes: body_bytes ?? 0, monthly_quota, body_bytes_max: bodyBytesMax(monthly_quota) },
  }
}
