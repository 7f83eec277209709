import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { makeDurable } from '../src/durable.ts'

const records = [{ topic: 'notes', partition: 0, key: null, value: Buffer.from('note') }]

test('the log gets nothing before the audit store has it, and the answer waits for both', async () => {
  const [audit, log] = [Promise.withResolvers<string>(), Promise.withResolvers<void>()]
  const seen: unknown[] = []
  const publish = (published: typeof records) => {
    seen.push(...published)
    return log.promise
  }
  const answered = makeDurable({ publish }, audit.promise, (key) => [{ ...records[0]!, key }])
  void answered.then((key) => seen.push(`answered ${key}`))
  await turn()
  expect(seen).toEqual([])
  audit.resolve('object')
  await turn()
  expect(seen).toEqual([{ ...records[0], key: 'object' }])
  log.resolve()
  await answered
  expect(seen.at(-1)).toBe('answered object')
})

test('a request without records still waits for the audit store', async () => {
  const publish = async () => {}
  const refused = makeDurable({ publish }, Promise.reject(new Error('disk full')), () => [])
  await expect(refused).rejects.toMatchObject({ code: 'audit_write_failed' })
})
