import { afterAll, beforeAll, expect, test } from 'vitest'
import { getCvSchema, publishCvSchema } from '../../src/companies/cv-schemas.ts'
import { until } from '../attribution/attribution-world.ts'
import { openWorld, postbacksOf, request } from './postbacks-world.ts'

let world: Awaited<ReturnType<typeof openWorld>>
beforeAll(async () => {
  world = await openWorld()
})
afterAll(() => world.close())

const publish = (app_id: string, name: string, now_ms = request.now_ms) =>
  publishCvSchema(world.pool, app_id, postbacksOf(name), { ...request, now_ms })
const bodyOf = (live: { body: Buffer } | null) => JSON.parse(live!.body.toString())

test('schemas that are published at once are numbered from 1 without gaps, each app by itself', async () => {
  const [one, other] = [await world.app(), await world.app()]
  const all = [one, other].flatMap(({ app_id }) => Array.from({ length: 8 }, (_, n) => publish(app_id, `n${n}`)))
  const versions = (await Promise.all(all)).map(({ version }) => version)
  for (const half of [versions.slice(0, 8), versions.slice(8)])
    expect(half.toSorted((a, b) => a - b)).toEqual([1, 2, 3, 4, 5, 6, 7, 8])
})

test('a version is what was published as it, for ever', async () => {
  const { app_id } = await world.app()
  await publish(app_id, 'one')
  await publish(app_id, 'two')
  expect(await getCvSchema(world.pool, app_id, 1)).toEqual({
    ...{ app_id, version: 1 },
    schema: { version: 1, postbacks: postbacksOf('one') },
  })
  expect((await getCvSchema(world.pool, app_id)).version).toBe(2)
  await expect(getCvSchema(world.pool, app_id, 3)).rejects.toMatchObject({ code: 'unknown_cv_schema' })
  for (const sql of ["UPDATE cv_schemas SET postbacks = '[]'", 'DELETE FROM cv_schemas', 'TRUNCATE cv_schemas'])
    await expect(world.pool.query(sql)).rejects.toThrow('its rows are kept for ever')
})

test('a publisher whose clock is behind does not put its version before the one before', async () => {
  const { app_id } = await world.app()
  await publish(app_id, 'one', request.now_ms)
  await publish(app_id, 'two', request.now_ms - 60_000)
  await publish(app_id, 'three', request.now_ms + 5)
  const { schemas } = await world.startProcess()
  expect(await schemas.find(app_id)).toEqual(
    ['one', 'two', 'three'].map((name, n) => ({
      ...{ version: n + 1, published_at_ms: request.now_ms + (n === 2 ? 5 : 0) },
      schema: { version: n + 1, postbacks: postbacksOf(name) },
    })),
  )
})

test('a process has a new version at once, and asks nothing while there is none', async () => {
  const { app_id } = await world.app()
  const { live, schemas, queries } = await world.startProcess()
  expect(bodyOf(await live.find(app_id))).toEqual({ app_id, version: null, schema: null })
  expect(await schemas.find(app_id)).toEqual([])
  const { etag } = (await live.find(app_id))!
  const asked = await queries()
  for (let n = 0; n < 100; n += 1) expect((await live.find(app_id))?.etag).toBe(etag)
  expect(await queries()).toBe(asked)

  await publish(app_id, 'one')
  await until('it knows', async () => (await live.find(app_id))?.version === 1)
  const newest = await live.find(app_id)
  expect(bodyOf(newest)).toEqual({ app_id, version: 1, schema: { version: 1, postbacks: postbacksOf('one') } })
  expect(newest?.etag).not.toBe(etag)
  await until('it knows all', async () => (await schemas.find(app_id)).length === 1)
  const other = await world.startProcess()
  expect((await other.live.find(app_id))?.etag).toBe(newest?.etag)
})

test('an Android app has no schema: none can be published', async () => {
  const { app_id } = await world.app(undefined, 'android')
  await expect(publish(app_id, 'one')).rejects.toMatchObject({ code: 'invalid_field', field: 'app_id' })
  const { live } = await world.startProcess()
  expect(bodyOf(await live.find(app_id))).toEqual({ app_id, version: null, schema: null })
})

test('with PostgreSQL away a known schema holds for 10 minutes, and an unknown one is unavailable', async () => {
  const [known, other] = [await world.app(), await world.app()]
  await publish(known.app_id, 'one')
  const { live, proxy, clock } = await world.startProcess()
  expect((await live.find(known.app_id))?.version).toBe(1)
  proxy.cut()
  clock.now_ms += 9 * 60_000
  expect((await live.find(known.app_id))?.version).toBe(1)
  await expect(live.find(other.app_id)).rejects.toMatchObject({ code: 'unavailable' })
  clock.now_ms += 60_001
  await expect(live.find(known.app_id)).rejects.toMatchObject({ code: 'unavailable' })
})
