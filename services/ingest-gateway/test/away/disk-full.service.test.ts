import { sdkEvent } from '@tributary/testing/builders'
import { expect, it } from 'vitest'
import { openGateway } from '../gateway.ts'

it('answers 503 with Retry-After before the audit write while the disk is full, and goes on by itself', async () => {
  const disk = { full: true, open: () => !disk.full }
  const gateway = await openGateway({ disk })
  const body = JSON.stringify({ sent_at_ms: gateway.now_ms, events: [sdkEvent()] })
  const send = async () => [
    await gateway.event(body),
    await gateway.s2s('/s2s/events/bulk', { events: [sdkEvent()] }),
    await gateway.s2s('/s2s/event', sdkEvent({ event_ts_ms: gateway.now_ms })),
    await gateway.event(JSON.stringify({ install_uuid: 'i-1' })),
  ]
  for (const answer of await send()) {
    expect(answer.statusCode).toBe(503)
    expect(answer.json()).toMatchObject({ error: 'unavailable' })
    expect(answer.headers['retry-after']).toBe('10')
  }
  expect([gateway.audit.objects.size, gateway.records()]).toEqual([0, []])
  disk.full = false
  expect((await send()).slice(0, 3).map(({ statusCode }) => statusCode)).toEqual([200, 200, 200])
  expect(gateway.records()).not.toEqual([])
})
