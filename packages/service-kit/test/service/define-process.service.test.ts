import type { Resource } from '@tributary/service-kit/resources/resource'
import { defineProcess } from '@tributary/service-kit/service/define-process'
import { defineService } from '@tributary/service-kit/service/define-service'
import { StartRefused } from '@tributary/service-kit/settings/start-refused'
import { Counter } from 'prom-client'
import { expect, test } from 'vitest'
import { refusalOf, serviceUnderTest } from './service-under-test.ts'

const writerPassword = 'TRIBUTARY_POSTGRES_URL__INSTALL_WRITER'
const env = {
  TRIBUTARY_PORT: '0',
  TRIBUTARY_POSTGRES_URL: 'postgres://all@host/tributary',
  [writerPassword]: 'postgres://writer@host/tributary',
}

const trouble = { code: 'secrets_unreadable', message: 'No key decrypts it.', refuses: false }

/** A database that notes who opens and closes it, and counts in the registry of its part as every engine does. */
function database(notes: string[], state: { down?: string } = {}): Resource<string, never, 'TRIBUTARY_POSTGRES_URL'> {
  return {
    ...{ binding: 'database', settings: [], required: ['TRIBUTARY_POSTGRES_URL'] },
    async open(config, { name, onClose, checks, troubles, registry }) {
      const { username } = new URL(config.TRIBUTARY_POSTGRES_URL)
      if (username === 'wrong') throw new StartRefused('password authentication failed.')
      notes.push(`${name} opened as ${username}`)
      onClose('database', async () => void notes.push(`${name} closed`))
      checks.database = async () => {
        if (state.down === name) throw new Error('down')
      }
      troubles.push(() => [trouble])
      new Counter({ name: 'opened_total', help: 'Opened.', registers: [registry] }).inc()
      return username
    },
  }
}

function attribution(notes: string[], state = {}) {
  const resources = { database: database(notes, state) }
  return defineProcess({
    name: 'attribution',
    parts: [defineService({ name: 'install-finder', resources }), defineService({ name: 'install-writer', resources })],
  })
}

async function start(notes: string[], given: Record<string, string> = {}, state = {}) {
  const around = serviceUnderTest()
  const process = attribution(notes, state)
  const { url } = (await process.start(process.readConfig({ ...env, ...given }), around.service)) as { url: string }
  const ask = (path: string) => fetch(url + path, { headers: { connection: 'close' } })
  return { ask, close: around.close }
}

test('each part opens resources of its own with its own credentials', async () => {
  const notes: string[] = []
  const { close } = await start(notes)
  expect(notes.sort()).toEqual(['install-finder opened as all', 'install-writer opened as writer'])
  notes.splice(0)
  await close()
  expect(notes.sort()).toEqual(['install-finder closed', 'install-writer closed'])
})

test('a setting runs some parts alone, and asks for the settings of these only', async () => {
  const notes: string[] = []
  const { close } = await start(notes, { TRIBUTARY_PARTS: 'install-writer', TRIBUTARY_POSTGRES_URL: '' })
  expect(notes).toEqual(['install-writer opened as writer'])
  await close()
})

test('a binding is down while it is down for one part, the same trouble of parts is said once, metrics are added up', async () => {
  const state: { down?: string } = {}
  const { ask, close } = await start([], {}, state)
  expect(await (await ask('/ready')).json()).toEqual({ ready: true })
  expect(await (await ask('/metrics')).text()).toMatch(/^opened_total 2$/m)
  state.down = 'install-writer'
  const { code, message } = trouble
  expect(await (await ask('/health')).json()).toMatchObject({
    bindings: { database: { status: 'down' } },
    troubles: [{ code, message }],
  })
  await close()
})

test('what is wrong for any part is refused at once, each problem once', async () => {
  const process = attribution([])
  const refused = (given: Record<string, string>) => () => process.readConfig({ ...env, ...given })
  expect(() => process.readConfig({ TRIBUTARY_PORT: 'x' })).toThrow(
    /^These settings are wrong:\n.*TRIBUTARY_PORT.*\n {2}TRIBUTARY_POSTGRES_URL is needed: [^\n]*$/,
  )
  expect(refused({ TRIBUTARY_PARTS: 'eraser' })).toThrow('eraser is no part of attribution')
  expect(refused({ TRIBUTARY_PARTS: 'nobody' })).toThrow('"nobody" was given')
  expect(refused({ TRIBUTARY_POSTGRES_URL__NOBODY: 'x' })).toThrow('TRIBUTARY_POSTGRES_URL__NOBODY is no setting')
  expect(refused({ TRIBUTARY_NOTHING__INSTALL_WRITER: 'x' })).toThrow('TRIBUTARY_NOTHING__INSTALL_WRITER is no setting')
})

test('a refusal names its part, and what other parts opened is closed', async () => {
  const notes: string[] = []
  const around = serviceUnderTest()
  const process = attribution(notes)
  const config = process.readConfig({ ...env, [writerPassword]: 'postgres://wrong@host/tributary' })
  const refusal = await refusalOf(process.start(config, around.service))
  await around.close()
  expect(refusal).toBeInstanceOf(StartRefused)
  expect(refusal.message).toBe('install-writer: password authentication failed.')
  expect(notes).toEqual(['install-finder opened as all', 'install-finder closed'])
})
