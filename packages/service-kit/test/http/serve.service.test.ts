import { httpSettings, requireAddress, serve } from '@tributary/service-kit/http/serve'
import { readSettings } from '@tributary/service-kit/settings/read-settings'
import { StartRefused } from '@tributary/service-kit/settings/start-refused'
import { expect, test } from 'vitest'
import { serviceUnderTest } from '../service/service-under-test.ts'

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

test.each(['999.1.1.1', '192.0.2.1', 'no-such-host.invalid'])(
  'an address that is not of this machine is one line with its setting: %s',
  async (host) => {
    const config = readSettings({ TRIBUTARY_PORT: '0', TRIBUTARY_HOST: host }, httpSettings)
    const { service, close } = serviceUnderTest()
    const line = new RegExp(`^Can't listen on ${host}, port 0: [^\\n]+ Set TRIBUTARY_HOST [^\\n]+$`)
    for (const start of [() => requireAddress(config), () => serve(config, service, async () => {})]) {
      const refused: unknown = await start().catch((error) => error)
      expect(refused).toBeInstanceOf(StartRefused)
      expect((refused as Error).message).toMatch(line)
    }
    await close()
  },
)

test('a port that is taken is told before anything is opened', async () => {
  const { service, close } = serviceUnderTest()
  const { url } = await serve(readSettings({ TRIBUTARY_PORT: '0' }, httpSettings), service, async () => {})
  const taken = readSettings({ TRIBUTARY_PORT: new URL(url).port }, httpSettings)
  await expect(requireAddress(taken)).rejects.toThrow(/EADDRINUSE[^\n]+Set TRIBUTARY_PORT/)
  await close()
})

test('a service logs one line when it listens, with its address as a field', async () => {
  const { service, close, logged } = serviceUnderTest()
  const config = readSettings({ TRIBUTARY_PORT: '0', TRIBUTARY_HOST: '0.0.0.0' }, httpSettings)
  const { url } = await serve(config, service, async () => {})
  const lines = logged().trim().split('\n')
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([{ msg: 'listening', url }])
  await close()
})
