import type { SystemStatus } from '@tributary/contracts/admin/system'
import { bodyBytesKey, quotaKey, rejectedKey } from '@tributary/tenancy/quota/quota-key'
import { memoryKeyValue } from '@tributary/testing/twins/memory-key-value'
import { describe, expect, test } from 'vitest'
import { adminApiUnderTest } from '../admin-api-under-test.ts'

const now = Date.UTC(2026, 0, 2, 3, 4, 5, 678)
const keyValue = memoryKeyValue(() => now)
const status: SystemStatus = { ready: true, consumers: [], bindings: { database: { status: 'ok', latency_ms: 1 } } }
const { ask, newCompany } = adminApiUnderTest({ now: () => now, keyValue, status: async () => status })

describe('use of the monthly quota', () => {
  test('shows what the gateways counted against the cap, this month or another', async () => {
    const { company_id } = (await ask('POST', '/companies', { name: 'Acme', monthly_quota: 500 })).body
    const usage = async (query = '') => (await ask('GET', `/companies/${company_id}/usage${query}`)).body
    expect(await usage()).toEqual({
      ...{ company_id, month: '2026-01', used: 0, rejected: 0, body_bytes: 0 },
      ...{ monthly_quota: 500, body_bytes_max: 1024 ** 3 },
    })
    await keyValue.addCapped(quotaKey(company_id, now), 321, 500, 1000)
    await keyValue.addCapped(quotaKey(company_id, Date.UTC(2025, 11, 31)), 7, 500, 1000)
    await keyValue.addCapped(rejectedKey(company_id, now), 4, 500, 1000)
    await keyValue.addCapped(bodyBytesKey(company_id, now), 70_000, 80_000, 1000)
    expect(await usage()).toMatchObject({ month: '2026-01', used: 321, rejected: 4, body_bytes: 70_000 })
    expect(await usage('?month=2025-12')).toMatchObject({ month: '2025-12', used: 7 })
  })

  test('refuses a company or a month that there is not', async () => {
    expect((await ask('GET', `/companies/co_${'0'.repeat(20)}/usage`)).body.error).toBe('unknown_company')
    const { company_id } = await newCompany()
    for (const month of ['2026-13', '2026', 'x', '2026-1', '']) {
      const { status: answered, body } = await ask('GET', `/companies/${company_id}/usage?month=${month}`)
      expect([answered, body.error, body.field]).toEqual([400, 'invalid_field', 'month'])
    }
  })
})

test('the status is the one of the system', async () => {
  expect(await ask('GET', '/status')).toMatchObject({ status: 200, body: status })
})
