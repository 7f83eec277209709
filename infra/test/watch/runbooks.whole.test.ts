import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type StandaloneProcess, startStandaloneProcess } from '@tributary/testing/standalone/standalone-process'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { tributary } from '../../../packages/cli/test/run-tributary.ts'
import { commands } from './runbook-commands.ts'

/** Commands that are not run here, and why. runbooks.service.test.ts holds their options against the program. */
const notRun: Record<string, string> = {
  'app check-store': 'asks the App Store and Google Play',
  'dead retry --reason': 'needs a letter of that reason',
  'app rotate-secret': 'changes an app for good',
  backup: 'writes a folder; backup.failure.test.ts runs it',
  'erase request': 'erases',
  'erase status': 'needs an erasure',
  'fx load': 'needs a file',
  'key revoke': 'ends a key',
  'master-key': 'loses the key',
  migrate: 'migrates servers',
  'partner retry': 'needs a partner',
  'partner test': 'needs a partner',
  rebuild: 'needs a server of ClickHouse',
  reconcile: 'its own tests run it',
  'retention run': 'would wait a minute for the run of the night, which a start begins',
  topics: 'needs Kafka',
  'doctor --service': 'needs a fleet',
}
const isRun = (command: string) =>
  !command.endsWith('--help') && !Object.keys(notRun).some((name) => command.startsWith(name))

const data_dir = mkdtempSync(join(tmpdir(), 'tributary-runbooks-'))
let standalone: StandaloneProcess
let env: Record<string, string>
const places: Record<string, string> = {}

async function answerOf(words: string) {
  const { code, stdout, stderr } = await tributary([...words.split(' '), '--json'], env)
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  return JSON.parse(stdout)
}

beforeAll(async () => {
  standalone = await startStandaloneProcess({ data_dir })
  const token = readFileSync(join(data_dir, 'admin-token'), 'utf8').trim()
  env = { TRIBUTARY_URL: standalone.url, TRIBUTARY_ADMIN_TOKEN: token, TRIBUTARY_DATA_DIR: data_dir }
  const { company_id } = await answerOf('company create --name Acme')
  const { app_id } = await answerOf(`app create --company ${company_id} --name Game --platform ios`)
  Object.assign(places, { COMPANY_ID: company_id, APP_ID: app_id })
})
afterAll(async () => {
  await standalone.stop('SIGTERM')
  rmSync(data_dir, { recursive: true, force: true })
})

describe.each(commands.filter(isRun))('npx tributary %s', (command) => {
  it('runs', async () => {
    const words = command.split(' ').map((word) => places[word] ?? word)
    expect(await tributary(words, env)).toMatchObject({ code: 0 })
  })
})

it('leaves out no command without a reason', () => {
  for (const name of Object.keys(notRun))
    expect(
      commands.some((command) => command.startsWith(name)),
      name,
    ).toBe(true)
  expect(commands.filter(isRun).length).toBeGreaterThan(15)
})
