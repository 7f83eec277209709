import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { day_ms, hour_ms, limits } from '@tributary/contracts/limits'
import { openEmbeddedKeyValue } from '@tributary/key-value/embedded'
import { buildTenant, memoryCredentials, sdkEvent, signedHeaders } from '@tributary/testing/builders'
import { expect, onTestFinished, test } from 'vitest'
import { openGatewayOver } from './gateway-over.ts'

const noon_ms = Date.UTC(2026, 5, 15, 12)

/** A gateway over counters on disk, whose clock a test moves. */
async function open() {
  const dir = await mkdtemp(join(tmpdir(), 'tributary-clocks-'))
  const clock = { now_ms: noon_ms }
  const now = () => clock.now_ms
  const tenant = buildTenant('android')
  tenant.company.monthly_quota = 50
  tenant.key.monthly_quota = 50
  const start = async () => {
    const keyValue = await openEmbeddedKeyValue({ dir, now })
    return { keyValue, gateway: await openGatewayOver({ keyValue, now, credentials: memoryCredentials([tenant]) }) }
  }
  let running = await start()
  const stop = async () => {
    await running.gateway.close()
    await running.keyValue.close()
  }
  const askForErasure = async (install_uuid: string) => {
    const body = JSON.stringify({ install_uuid })
    return (await running.gateway.post('/privacy/delete', signedHeaders(tenant, body), body)).status
  }
  onTestFinished(async () => {
    await stop()
    await rm(dir, { recursive: true })
  })
  return {
    clock,
    async restart() {
      await stop()
      running = await start()
    },
    /** An event of the backend: its status and the use of the quota that the answer tells. */
    async send() {
      const { status, headers } = await running.gateway.single(sdkEvent({ event_ts_ms: now() }), tenant)
      return [status, Number(headers['x-service-quota-used'] ?? 0)]
    },
    askForErasure,
    /** Uses up what is left of the windows of the key and of erasure requests. */
    async spendWindows() {
      const { key_requests_max, key_requests_window_ms, erasures_max } = limits
      for (let n = 0; n < key_requests_max; n += 1)
        await running.keyValue.hitWindow(`rate:${tenant.key.key_id}`, key_requests_max, key_requests_window_ms)
      for (let n = 0; n < erasures_max; n += 1) await askForErasure(`spent-${clock.now_ms}-${n}`)
    },
  }
}

test.each([
  ['a minute', 60_000],
  ['an hour', hour_ms],
  ['a day', day_ms],
])('a clock that was %s ahead and is corrected refuses no request, running or restarted', async (_name, jump_ms) => {
  for (const restarts of [false, true]) {
    const { clock, restart, send, askForErasure, spendWindows } = await open()
    expect(await send()).toEqual([200, 1])
    clock.now_ms += jump_ms
    await spendWindows()
    expect(await send()).toEqual([429, 0])
    expect(await askForErasure('one-more')).toBe(429)
    clock.now_ms -= jump_ms
    if (restarts) await restart()
    expect(await send()).toEqual([200, 2])
    expect(await askForErasure('one-more')).toBe(202)
  }
})

test('events of a clock that was in the next month use up nothing of this one, and the other way round', async () => {
  const { clock, send } = await open()
  for (let n = 1; n <= 3; n += 1) expect(await send()).toEqual([200, n])
  clock.now_ms += 20 * day_ms
  for (let n = 1; n <= 50; n += 1) expect(await send()).toEqual([200, n])
  expect((await send())[0]).toBe(429)
  clock.now_ms -= 20 * day_ms
  expect(await send()).toEqual([200, 4])
})
