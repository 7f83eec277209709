import { readSettings } from '@tributary/service-kit/read-settings'
import { StartRefused } from '@tributary/service-kit/run-service'
import { expect, test } from 'vitest'

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
    '  TRIBUTARY_ADMIN_TOKEN: needs at least 8 characters',
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
