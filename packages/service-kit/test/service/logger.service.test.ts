import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const logger = join(import.meta.dirname, '..', '..', 'src', 'service', 'logger.ts')

/** The lines that a process writes to stderr. */
const written = (format: string): string[] => {
  const script = `
    import { createLogger } from ${JSON.stringify(logger)}
    const logger = createLogger({ name: 'x', level: 'info', format: '${format}' })
    logger.info({ app_id: 'app_1', rows: [1, 2], nested: { a: 1 } }, 'written')
    logger.error({ err: new Error('outer', { cause: new Error('inner') }) }, 'failed')
    logger.child({ topic: 'a', partition: 1 }).warn({ topic: 'a', partition: 2, name: 'y', rows: 3 }, 'bound')`
  const run = `exec "$0" --input-type=module -e "$1" 2>&1`
  return execFileSync('sh', ['-c', run, process.execPath, script], { encoding: 'utf8' }).trim().split('\n')
}

test('an entry for a person is one line, an error too, and says what it says', () => {
  const [info, failure, ...rest] = written('pretty')
  expect(rest).toHaveLength(1)
  expect(info).toContain('INFO')
  expect(info).toMatch(/written.*"app_id":"app_1".*"nested":\{"a":1\}/)
  expect(failure).toMatch(/failed.*"message":"outer".*"message":"inner"/)
})

test('without a terminal, or as set, an entry is one JSON document with the stack of its error', () => {
  for (const format of ['auto', 'json']) {
    const [info, failure, ...rest] = written(format).map((line) => JSON.parse(line))
    expect(rest).toHaveLength(1)
    expect([info.level, failure.level]).toEqual(['info', 'error'])
    expect(failure.err.stack).toMatch(/^Error: outer\n +at /)
  }
})

test('no line has a key twice: a field that its logger has already is left out, another value under its name is kept', () => {
  const line = written('json').at(-1)!
  const keys = [...line.matchAll(/"(\w+)":/g)].map(([, key]) => key)
  expect(keys).toEqual([...new Set(keys)])
  const bound = { level: 'warn', topic: 'a', partition: 1, own_partition: 2, name: 'x', own_name: 'y', rows: 3 }
  expect(JSON.parse(line)).toMatchObject(bound)
})
