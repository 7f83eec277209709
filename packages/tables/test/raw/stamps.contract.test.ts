import { sealRaw } from '@tributary/tables/raw/seal'
import { postgresStamps } from '@tributary/tables/raw/stamps'
import { openTestPostgres } from '@tributary/testing/engines/test-postgres'
import { stampsSuite } from '@tributary/testing/suites/stamps-suite'
import { memoryStamps } from '@tributary/testing/twins/memory-stamps'
import type { Pool } from 'pg'
import { expect, test } from 'vitest'

stampsSuite('PostgreSQL', async () => {
  const { pool, close } = await openTestPostgres()
  const seal = async () => (await sealRaw(pool, 'writer')).complete_until_ms
  return { stamps: postgresStamps(pool), seal, dispose: close }
})

stampsSuite('memory', async () => {
  let now_ms = 1_700_000_000_000
  const stamps = memoryStamps(() => now_ms++)
  return { stamps, seal: async () => stamps.seal(), dispose: async () => {} }
})

test('a reader that stands still between two statements holds up no batch', async () => {
  const { pool, close } = await openTestPostgres()
  const moving = Promise.withResolvers<void>()
  const sealed = Promise.withResolvers<void>()
  /** Stands still once its first statement on the clock is done, as a process that is stopped. */
  const standing = async <Result>(text: unknown, result: Promise<Result>) => {
    const done = await result
    if (!/UPDATE raw_clock/.test(String(text))) return done
    sealed.resolve()
    await moving.promise
    return done
  }
  const still = new Proxy(pool, {
    get(of, name) {
      if (name === 'query') return (text: string, values?: unknown[]) => standing(text, of.query(text, values))
      if (name !== 'connect') return Reflect.get(of, name, of)
      return async () => {
        const client = await of.connect()
        const query = client.query.bind(client) as (text: string, values?: unknown[]) => Promise<unknown>
        const release = (error?: Error) => client.release(error)
        return { query: (text: string, values?: unknown[]) => standing(text, query(text, values)), release }
      }
    },
  })
  const seal = sealRaw(still as Pool, 'writer')
  await sealed.promise
  const stamps = postgresStamps(pool)
  const at = { consumer: 'writer', topic: 'letters', partition: 0 }
  const before = performance.now()
  const stamp = await stamps.pin(at, 0)
  expect(performance.now() - before).toBeLessThan(5000)
  moving.resolve()
  // What was given meanwhile is not promised as complete.
  expect((await seal).complete_until_ms).toBeLessThanOrEqual(stamp)
  await close()
})
