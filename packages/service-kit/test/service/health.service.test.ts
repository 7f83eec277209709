import { fenceAdmin } from '@tributary/service-kit/http/admin-fence'
import { createHttpApp } from '@tributary/service-kit/http/http-app'
import { createHealth, type Trouble } from '@tributary/service-kit/service/health'
import type { Logger } from 'pino'
import { expect, test } from 'vitest'
import { serviceUnderTest } from './service-under-test.ts'

function openHealth() {
  const { service } = serviceUnderTest()
  const troubles: Trouble[] = []
  const state = { log_is_up: true, now_ms: 0 }
  const health = createHealth({
    checks: {
      queues: async () => {
        if (!state.log_is_up) throw new Error('away')
      },
      analytics: () => Promise.reject(new Error('away')),
    },
    now: () => state.now_ms,
    registry: service.registry,
    troubles: [() => troubles],
    needs: ['queues'],
  })
  const app = createHttpApp({ logger: service.logger })
  health.routes(app)
  health.started()
  const ready = async () => (await app.inject('/ready')).statusCode
  return { app, health, state, troubles, ready }
}

test('trouble in the process is told on /health; /ready answers 503 only while every request is refused', async () => {
  const { app, ready, troubles } = openHealth()
  troubles.push({ code: 'disk_low', message: '3 MiB are free.', refuses: false })
  expect((await app.inject('/health')).json()).toMatchObject({
    status: 'degraded',
    troubles: [{ code: 'disk_low', message: '3 MiB are free.' }],
  })
  expect(await ready()).toBe(200)
  troubles.push({ code: 'disk_full', message: 'None is free.', refuses: true })
  expect(await ready()).toBe(503)
  troubles.length = 0
  expect(await ready()).toBe(200)
  expect((await app.inject('/health')).json()).not.toHaveProperty('troubles')
})

test('a process that begins to stop is not ready any more, and lives on', async () => {
  const { app, health, ready } = openHealth()
  expect(await ready()).toBe(200)
  health.stopping()
  expect(await ready()).toBe(503)
  expect((await app.inject('/health')).statusCode).toBe(200)
})

test('a needed binding that nobody checks counts as down', async () => {
  const { service } = serviceUnderTest()
  let now_ms = 0
  const health = createHealth({ checks: {}, now: () => now_ms, registry: service.registry, needs: ['queues'] })
  health.started()
  expect(await health.isReady()).toBe(true) // for as long as one slow check may take
  now_ms += 60_000
  expect(await health.isReady()).toBe(false)
})

test('a stranger learns the code of a trouble and no more', async () => {
  const { app, troubles } = openHealth()
  const trouble = { code: 'secrets_unreadable', message: 'Signing secrets of app_1.', fix: 'rotate-secret app_1' }
  troubles.push({ ...trouble, refuses: false })
  const seenBy = async (headers: Record<string, string>) =>
    (await app.inject({ url: '/health', headers })).json().troubles
  expect(await seenBy({})).toEqual([trouble])
  expect(await seenBy({ 'x-forwarded-for': '198.51.100.1' })).toEqual([{ code: 'secrets_unreadable' }])
})

test('behind the admin fence only its operators learn more than the code of a trouble', async () => {
  const { app, troubles } = openHealth()
  fenceAdmin(app, { networks: ['192.0.2.0/24'], hosts: [], trusted_proxies: [], logger: app.log as Logger })
  troubles.push({ code: 'disk_low', message: '3 MiB are free.', refuses: false })
  const seenBy = async (remoteAddress: string) =>
    (await app.inject({ url: '/health', remoteAddress, headers: { host: 'localhost' } })).json().troubles
  expect(await seenBy('192.0.2.1')).toEqual([{ code: 'disk_low', message: '3 MiB are free.' }])
  expect(await seenBy('198.51.100.1')).toEqual([{ code: 'disk_low' }])
})

test('/ready answers 503 once a binding that every request needs has been down for five seconds', async () => {
  const { ready, state } = openHealth()
  expect(await ready()).toBe(200)
  state.log_is_up = false
  state.now_ms = 2000
  expect(await ready()).toBe(200)
  state.now_ms = 7000
  expect(await ready()).toBe(503)
  state.log_is_up = true
  state.now_ms = 9000
  expect(await ready()).toBe(200)
})
