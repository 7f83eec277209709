import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import type { AttackTenant } from '../../attack/tenants.ts'
import { startVictim } from '../../attack/victim.ts'

const tenant: AttackTenant = {
  ...{
    company_id: 'co_1',
    app_id: 'app_1',
    company_key: 'co_1',
    app_key: 'app_live_1',
    signing_secret: 's',
    link_id: 'l',
    trap_id: 't',
  },
  ...{ server_key: 'sk_1', report_key: 'sk_2', watch_key: 'sk_3' },
}

test('a connection that is reset while the victim waits for a verdict is a fault, and the victim goes on', async () => {
  let resets = 0
  const server = createServer((request, response) => {
    if (request.method === 'POST') return void response.end('{"accepted":1}')
    resets += 1
    request.socket.destroy()
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => void server.close())
  const victim = startVictim(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, tenant, ['verdict'])
  await expect.poll(() => resets, { timeout: 60_000 }).toBeGreaterThanOrEqual(2)
  const { accepted, faults } = await victim.end()
  expect(accepted).toBe(resets)
  expect(faults).toHaveLength(resets)
  expect(faults[0]).toMatch(/had no answer/)
})
