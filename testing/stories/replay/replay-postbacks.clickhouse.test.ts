import { openTestClickhouse, type TestClickhouse } from '@tributary/testing/engines/test-clickhouse'
import { openTestPostgres, type TestPostgres } from '@tributary/testing/engines/test-postgres'
import { aakPayload, createAppleTwin, skanFields } from '@tributary/testing/postback/apple-twin'
import { writeJson } from '@tributary/testing/postback/json'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { openPostbackDoor, type PostbackDoor } from './postback-door.ts'
import { loseEvents, openWorld, type World } from './replay-world.ts'

const apple = createAppleTwin()
let clickhouse: TestClickhouse
let postgres: TestPostgres
let world: World
let door: PostbackDoor
beforeAll(async () => {
  ;[clickhouse, postgres] = await Promise.all([openTestClickhouse(), openTestPostgres()])
})
afterAll(() => Promise.all([clickhouse.close(), postgres.close()]))
beforeEach(async () => {
  await loseEvents(clickhouse, () => false)
  world = await openWorld({ clickhouse, pool: postgres.pool })
  door = await openPostbackDoor(world, clickhouse, apple)
})
afterEach(async () => {
  await door.close()
  await world.close()
})

/** Genuine ones of both protocols, each with a resend of another value, and one that nobody signed. */
async function sendPostbacks(): Promise<number> {
  for (let n = 0; n < 8; n += 1) {
    const fields = apple.signSkan('4.0', skanFields('4.0'))
    await door.send('skan', writeJson(fields))
    await door.send('skan', writeJson({ ...fields, 'conversion-value': n }))
    await door.send('aak', apple.signAak(aakPayload()))
  }
  await door.send('skan', writeJson({ ...skanFields('4.0'), 'attribution-signature': 'none' }))
  await door.untilWritten()
  return 25
}

/** What the tables hold of each postback, without its position on the log. */
const stored = async () => ({
  raw: await clickhouse.query('SELECT * EXCEPT (topic, partition, offset) FROM postbacks_raw_v1 FINAL ORDER BY ALL'),
  decoded: await clickhouse.query(
    `SELECT * EXCEPT (topic, partition, offset) REPLACE (toString(postback_key) AS postback_key)
     FROM postbacks_decoded_v1 FINAL ORDER BY ALL`,
  ),
})

test('a replay of the audit store brings back postbacks that the tables lack, each once and as it was received', async () => {
  const sent = await sendPostbacks()
  const before = await stored()
  expect([before.raw.length, before.decoded.length]).toEqual([sent, sent])
  world.clock.now_ms += 30 * 86_400_000
  const nothing = await world.replay({ source: 'audit' })
  expect(nothing).toMatchObject({ state: 'done', filled: 0, unknown: 0 })
  expect(nothing).not.toHaveProperty('postbacks_filled')

  await loseEvents(clickhouse, () => false)
  expect(await world.replay({ source: 'audit', dry_run: true })).toMatchObject({ postbacks_filled: sent })
  expect(await world.replay({ source: 'audit', app_id: (await world.newTenant()).app_id })).not.toHaveProperty(
    'postbacks_filled',
  )
  expect(await world.replay({ source: 'audit' })).toMatchObject({ state: 'done', postbacks_filled: sent })
  expect(await stored()).toEqual(before)
  expect(await world.replay({ source: 'audit' })).not.toHaveProperty('postbacks_filled')
})

test('a replay adds only what is missing, counts an object that is none, and goes on', async () => {
  const sent = await sendPostbacks()
  const before = await stored()
  for (const table of ['postbacks_raw_v1', 'postbacks_decoded_v1'])
    await clickhouse.command(`DELETE FROM ${table} WHERE offset % 3 = 0 SETTINGS mutations_sync = 2`)
  const left = (await stored()).raw.length
  expect(left).toBeLessThan(sent)
  await world.audit.putOnce('postbacks/skan/2026/01/01/1-broken-1.jsonl.gz', Buffer.from('no gzip'))
  await world.audit.putOnce("postbacks/aak/2026/01/01/it's.gz", Buffer.from('no name of a gateway'))
  world.clock.now_ms += 1000
  expect(await world.replay({ source: 'audit' })).toMatchObject({
    ...{ state: 'done', postbacks_filled: sent - left, unknown: 2, unknown_reasons: { unreadable_object: 2 } },
  })
  expect(await stored()).toEqual(before)
})
