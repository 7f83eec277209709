import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { readSettings } from '@tributary/service-kit/read-settings'
import { StartRefused } from '@tributary/service-kit/run-service'
import { foreignSettings, settings } from '@tributary/service-kit/settings'
import { expect, test } from 'vitest'

const root = join(import.meta.dirname, '..', '..', '..')

const problemsOf = (read: () => unknown): string[] => {
  try {
    read()
  } catch (error) {
    if (error instanceof StartRefused) return error.message.split('\n').slice(1)
    throw error
  }
  return []
}

test('a start without what is required is refused, and says all that is wrong at once and what each is for', () => {
  const env = { TRIBUTARY_PORT: 'http', TRIBUTARY_ADMIN_TOKEN: 'short', TRIBUTARY_MASTER_KEY: '' }
  const problems = problemsOf(() =>
    readSettings(env, ['TRIBUTARY_PORT', 'TRIBUTARY_HOST'], ['TRIBUTARY_ADMIN_TOKEN', 'TRIBUTARY_MASTER_KEY']),
  )
  expect(problems).toEqual([
    expect.stringMatching(/^ {2}TRIBUTARY_PORT: \S/),
    '  TRIBUTARY_ADMIN_TOKEN: needs at least 32 characters: openssl rand -hex 32',
    expect.stringMatching(/^ {2}TRIBUTARY_MASTER_KEY is needed: 32 bytes in base64 /),
  ])
})

test('one wrong setting is enough', () => {
  expect(problemsOf(() => readSettings({}, [], ['TRIBUTARY_KAFKA_BROKERS']))).toHaveLength(1)
})

test('what is not set, or empty, has its default, which is enough for a required one', () => {
  const env = { TRIBUTARY_HOST: '', TRIBUTARY_PORT: '1234' }
  const found = readSettings(
    env,
    ['TRIBUTARY_PORT', 'TRIBUTARY_ADMIN_TOKEN'],
    ['TRIBUTARY_HOST', 'TRIBUTARY_LOG_LEVEL'],
  )
  expect(found).toEqual({
    TRIBUTARY_PORT: 1234,
    TRIBUTARY_ADMIN_TOKEN: undefined,
    TRIBUTARY_HOST: '127.0.0.1',
    TRIBUTARY_LOG_LEVEL: 'info',
  })
})

test('a setting that nobody knows is refused, naming the nearest one, together with all else that is wrong', () => {
  const env = {
    TRIBUTARY_PROT: '8080',
    TRIBUTARY_KAFKA_BROKER: 'a:1',
    TRIBUTARY_HOST_: undefined,
    TRIBUTARY_NOTHING: '',
    TRIBUTARYX: '1',
  }
  expect(problemsOf(() => readSettings({ ...env, TRIBUTARY_LOG_LEVEL: 'loud' }, ['TRIBUTARY_LOG_LEVEL']))).toEqual([
    '  TRIBUTARY_KAFKA_BROKER is no setting: did you mean TRIBUTARY_KAFKA_BROKERS?',
    '  TRIBUTARY_PROT is no setting: did you mean TRIBUTARY_PORT?',
    expect.stringMatching(/^ {2}TRIBUTARY_LOG_LEVEL: \S/),
  ])
})

test('one environment serves all services, and tests and the compose file have names of their own', () => {
  const others = Object.fromEntries([...Object.keys(settings), ...foreignSettings].map((name) => [name, 'anything']))
  expect(problemsOf(() => readSettings(others, []))).toEqual([])
})

test('every name that this repository uses is known', () => {
  const files = globSync('**/*.{ts,mjs,yml,yaml,sh,md,json}', {
    cwd: root,
    exclude: (path) => path.endsWith('node_modules'),
  })
  expect(files.length).toBeGreaterThan(100)
  const used = [...files, '.env.example', 'infra/Dockerfile']
    .filter((file) => !file.endsWith('.test.ts'))
    .flatMap(
      (file) => readFileSync(join(root, file), 'utf8').match(/\bTRIBUTARY_[A-Z0-9_]*[A-Z0-9]\b(?![_{*<])/g) ?? [],
    )
  const env = Object.fromEntries([...new Set(used)].map((name) => [name, 'x']))
  expect(problemsOf(() => readSettings(env, []))).toEqual([])
})
