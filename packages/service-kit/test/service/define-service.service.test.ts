import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { openResources, type Resource } from '@tributary/service-kit/resources/resource'
import { defineService } from '@tributary/service-kit/service/define-service'
import type { Settings } from '@tributary/service-kit/settings/read-settings'
import type { SettingName } from '@tributary/service-kit/settings/settings'
import { StartRefused } from '@tributary/service-kit/settings/start-refused'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { refusalOf, serviceUnderTest } from './service-under-test.ts'

interface Counters {
  count: number
}

const env = { TRIBUTARY_PORT: '0' }

/** An engine that works while `state` says so, and notes when it is opened and closed. */
function counters(notes: string[], state = { up: true }): Resource<Counters> {
  return {
    ...{ binding: 'counters', settings: [], required: [] },
    async open(_config, { onClose, checks }) {
      notes.push('counters opened')
      onClose('counters', async () => void notes.push('counters closed'))
      checks.counters = async () => {
        if (!state.up) throw new Error('down')
      }
      return { count: 7 }
    },
  }
}

/** One that is built on counters. */
const totals = (notes: string[]): Resource<{ total: number }, never, never, { counters: Counters }> => ({
  ...{ settings: [], required: [], on: ['counters'] },
  async open(_config, { onClose }, { counters: { count } }) {
    notes.push('totals opened')
    onClose('totals', async () => void notes.push('totals closed'))
    return { total: count * 2 }
  },
})

test('a service opens its resources once, each after what it is built on, serves its routes and closes last opened first', async () => {
  const notes: string[] = []
  const state = { up: true }
  const service = defineService({
    name: 'test',
    resources: { counters: counters(notes, state), totals: totals(notes) },
    needs: ['counters'],
    jobs: [
      {
        name: 'noting',
        pause_ms: 60_000,
        prepare:
          ({ totals: { total } }) =>
          async () =>
            notes.push(`job on ${total}`),
      },
    ],
    routes:
      async ({ totals: { total } }) =>
      async (app) =>
        void app.get('/total', async () => ({ total })),
  })
  const around = serviceUnderTest()
  const { url } = await service.start(service.readConfig(env), around.service)
  const ask = async (path: string) => (await fetch(url + path, { headers: { connection: 'close' } })).json()
  expect(await ask('/total')).toEqual({ total: 14 })
  expect(await ask('/ready')).toEqual({ ready: true })
  expect(await ask('/health')).toMatchObject({ status: 'ok', bindings: { counters: { status: 'ok' } } })
  await around.close()
  expect(notes).toEqual(['counters opened', 'totals opened', 'job on 14', 'totals closed', 'counters closed'])
})

test('a taken port is refused before anything is opened', async () => {
  const taken = createServer().listen(0)
  await once(taken, 'listening')
  const notes: string[] = []
  const service = defineService({ name: 'test', resources: { counters: counters(notes) } })
  const { port } = taken.address() as AddressInfo
  const around = serviceUnderTest()
  const starting = service.start(service.readConfig({ TRIBUTARY_PORT: String(port) }), around.service)
  expect(await refusalOf(starting)).toBeInstanceOf(StartRefused)
  expect(notes).toEqual([])
  await around.close()
  taken.close()
})

test('an engine that stands before what it is built on is refused', async () => {
  const notes: string[] = []
  const resources = { totals: totals(notes), counters: counters(notes) }
  const { service } = serviceUnderTest()
  const error = await refusalOf(openResources(resources, {} as Settings<SettingName>, service))
  expect(error.message).toBe('Resource totals is built on counters, which must stand before it.')
})

test('what did open is closed when another engine is refused, and the refusal is passed on', async () => {
  const notes: string[] = []
  const refused: Resource<null> = {
    ...{ settings: [], required: [] },
    open: () => Promise.reject(new StartRefused('Set THAT.')),
  }
  const service = defineService({ name: 'test', resources: { refused, counters: counters(notes) } })
  const around = serviceUnderTest()
  const refusal = await refusalOf(service.start(service.readConfig(env), around.service))
  await around.close()
  expect(refusal.message).toBe('Set THAT.')
  expect(notes).toEqual(['counters opened', 'counters closed'])
})

test('names each setting that its resources and parts need at once, and each variable of its own', () => {
  const engine: Resource<null, never, 'TRIBUTARY_REDIS_URL'> = {
    ...{ settings: [], required: ['TRIBUTARY_REDIS_URL'] },
    open: async () => null,
  }
  const variables = z.object({ OWN_ADDRESS: z.url() })
  const service = defineService({ name: 'test', resources: { engine }, required: ['TRIBUTARY_ADMIN_TOKEN'], variables })
  expect(() => service.readConfig(env)).toThrow(/TRIBUTARY_REDIS_URL is needed[\s\S]+TRIBUTARY_ADMIN_TOKEN is needed/)
  const rest = {
    ...env,
    TRIBUTARY_REDIS_URL: 'redis://host:6379/0',
    TRIBUTARY_ADMIN_TOKEN: 'a-token-of-this-test-and-no-other',
  }
  expect(() => service.readConfig(rest)).toThrow(/OWN_ADDRESS/)
  expect(service.readConfig({ ...rest, OWN_ADDRESS: 'http://host' }).OWN_ADDRESS).toBe('http://host')
})

/** `npm run check` compiles this; each line below would compile if nothing were checked. */
test('a part that uses what is not declared does not compile', () => {
  const resources = { counters: counters([]) }
  const routes = async (_context: { totals: { total: number } }) => async () => {}
  // @ts-expect-error: the engine `totals` is not declared
  defineService({ name: 'test', resources, routes })
  // @ts-expect-error: `totals` is built on `counters`
  defineService({ name: 'test', resources: { totals: totals([]) } })
  // @ts-expect-error: there is no such engine to need
  defineService({ name: 'test', resources, needs: ['totals'] })
  // @ts-expect-error: consumers need a broker
  defineService({ name: 'test', resources, consumers: [() => null] })
  defineService({
    name: 'test',
    resources,
    jobs: [
      {
        ...{ name: 'job', pause_ms: 1 },
        // @ts-expect-error: the setting is not declared
        prepare: (context) => async () => context.config.TRIBUTARY_ADMIN_TOKEN,
      },
    ],
  })
})
