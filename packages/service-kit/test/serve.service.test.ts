import { readSettings } from '@tributary/service-kit/read-settings'
import { httpSettings, serve } from '@tributary/service-kit/serve'
import { expect, test } from 'vitest'
import { serviceUnderTest } from './service-under-test.ts'

test('a stopping service says so on /ready, and goes on taking requests until load balancers have noticed', async () => {
  const { service, close } = serviceUnderTest()
  const env = { TRIBUTARY_PORT: '0', TRIBUTARY_DRAIN_MS: '500' }
  const { url } = await serve(readSettings(env, httpSettings), service, async (app) => {
    app.get('/work', async () => ({ done: true }))
  })
  const ask = (path: string) => fetch(url + path, { headers: { connection: 'close' } }).then(({ status }) => status)
  expect([await ask('/ready'), await ask('/work')]).toEqual([200, 200])
  const closed = close()
  expect([await ask('/ready'), await ask('/work')]).toEqual([503, 200])
  await closed
  await expect(ask('/work')).rejects.toThrow()
})
