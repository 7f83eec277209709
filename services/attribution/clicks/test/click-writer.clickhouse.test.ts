import { setTimeout as pause } from 'node:timers/promises'
import { gunzipSync } from 'node:zlib'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import type { Click } from '@tributary/contracts/attribution/click'
import { deadLetterTopic, topics } from '@tributary/contracts/topics'
import { clickKeys } from '@tributary/domain/attribute/match-keys'
import { utcDay } from '@tributary/domain/utc-day'
import type { LateDays } from '@tributary/erasure/late-days'
import { readClickArchives } from '@tributary/tables/attribution/click-archive'
import { findClicks } from '@tributary/tables/attribution/clicks'
import { openTestClickhouse, type TestClickhouse } from '@tributary/testing/engines/test-clickhouse'
import { roundsOf } from '@tributary/testing/rounds'
import { fragileClickhouse } from '@tributary/testing/twins/fragile-clickhouse'
import { memoryBroker } from '@tributary/testing/twins/memory-broker'
import { memoryTombstones } from '@tributary/testing/twins/memory-tombstones'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  clickOf,
  day,
  hour,
  installOf,
  isDone,
  makeStage,
  newAppId,
  noon,
  partitions,
  publishClicks,
  runToEnd,
  type Stage,
  startWriter,
  storeFacts,
} from './stage.ts'

const topic = topics.clicksRecorded

let clickhouse: TestClickhouse
beforeAll(async () => {
  clickhouse = await openTestClickhouse()
})
afterAll(() => clickhouse.close())

async function until(condition: () => boolean, what: string): Promise<void> {
  const deadline = Date.now() + 180_000
  while (!condition()) {
    if (Date.now() > deadline) throw new Error(`not in time: ${what}`)
    await pause(1)
  }
}

/** The clicks that an app has: rows, and what an install may match them by. Both tables are sets. */
async function tablesOf(app_id: string) {
  const [clicks, keys] = await Promise.all([
    clickhouse.query<{ id: string }>(
      'SELECT click_id AS id FROM clicks_raw_v1 FINAL WHERE app_id = {app_id:String} ORDER BY id',
      { app_id },
    ),
    clickhouse.query<{ key: string }>(
      `SELECT concat(click_id, '/', toString(match_key)) AS key FROM click_keys_v1 FINAL
       WHERE app_id = {app_id:String} ORDER BY key`,
      { app_id },
    ),
  ])
  return { clicks: clicks.map(({ id }) => id), keys: keys.map(({ key }) => key) }
}

const tablesWith = (clicks: readonly Click[]) => ({
  clicks: [...new Set(clicks.map(({ click_id }) => click_id))].toSorted(),
  keys: [...new Set(clicks.flatMap((click) => clickKeys(click).map((key) => `${click.click_id}/${key}`)))].toSorted(),
})

/** What the archives hold: `<partition>/<offset>/<click>`. */
async function archived({ audit }: Stage): Promise<string[]> {
  const found = await Array.fromAsync(readClickArchives(audit))
  return found
    .flatMap(({ clicks }) => clicks!)
    .map(({ place, click_id }) => `${place.partition}/${place.offset}/${click_id}`)
    .toSorted()
}

const logged = ({ broker }: Stage): string[] =>
  Array.from({ length: partitions }, (_, n) => broker.records(topic.name, n))
    .flat()
    .map(({ partition, offset, value }) => `${partition}/${offset}/${JSON.parse(value.toString()).click_id}`)
    .toSorted()

test('a click is stored with all it has, and with its position', async () => {
  const app_id = newAppId()
  const stage = makeStage()
  const full = clickOf({
    ...{ app_id, ext_click_id: 'x', sub1: 'ü', sub5: 'five', deep_link: 'app://a', lookback_hours: 48 },
    device_hashes: ['d1', 'd2'],
  })
  const empty = clickOf({ app_id, campaign: null, country: null, os: null, os_major: null, model: null })
  await publishClicks(stage.broker, [full, empty])
  await runToEnd(clickhouse, stage)
  const found = await findClicks(clickhouse, { app_id, click_ids: [full.click_id, empty.click_id] })
  const stored = found.map(({ place, ...click }) => click)
  expect(stored).toEqual([full, empty].toSorted((a, b) => (a.click_id < b.click_id ? -1 : 1)))
  expect(found.map(({ place }) => place.topic)).toEqual(Array(2).fill(expect.stringMatching(/^clicks\.recorded\.v1@./)))
})

test('crashes after any step, failures and other cuts leave each click once in every table and in the archives', async () => {
  const life = fc.record({
    points: fc.integer({ min: 0, max: 20 }),
    chunk: fc.integer({ min: 1, max: 6 }),
  })
  const plan = fc.record({
    ips: fc.array(fc.constantFrom('203.0.113.7', '203.0.113.8', '203.0.113.9'), { minLength: 1, maxLength: 12 }),
    /** Clicks that their gateway put on the log twice. */
    again: fc.array(fc.nat(), { maxLength: 3 }),
    lives: fc.array(life, { maxLength: 5 }),
    chunk: fc.integer({ min: 1, max: 6 }),
  })
  await fc.assert(
    fc.asyncProperty(plan, async ({ ips, again, lives, chunk }) => {
      const app_id = newAppId()
      const stage = makeStage()
      stage.attributionApps.add({ app_id })
      const clicks = ips.map((ip, n) =>
        clickOf({ app_id, ip, clicked_at_ms: noon - hour + n, device_hashes: [`d${n}`] }),
      )
      const waiting = installOf({ app_id, ip: '203.0.113.7' })
      await storeFacts(clickhouse, [waiting])
      await publishClicks(stage.broker, [...clicks, ...again.map((n) => clicks[n % clicks.length]!)])
      for (const { points, chunk: chunk_records_max } of lives) {
        stage.broker.chunk_records_max = chunk_records_max
        let left = points
        const crash = () => {
          if (left-- <= 0) throw new Error('crash')
        }
        const fragile = fragileClickhouse(clickhouse, crash)
        const running = await startWriter({ clickhouse: fragile, ...stage, crash }, { crash })
        await until(() => left < 0 || isDone(stage.broker), 'crash or end')
        await running.close()
      }
      stage.broker.chunk_records_max = chunk
      await runToEnd(clickhouse, stage)
      expect(await tablesOf(app_id)).toEqual(tablesWith(clicks))
      expect(await archived(stage)).toEqual(logged(stage))
      const expected = ips.includes('203.0.113.7') ? [`${app_id}/${waiting.install_uuid}`] : []
      expect(stage.redecisions.names()).toEqual(expected)
    }),
    { numRuns: roundsOf(15) },
  )
})

test('an insert that failed between the table and its look-up is completed in both', async () => {
  const app_id = newAppId()
  const stage = makeStage()
  const clicks = [clickOf({ app_id, device_hashes: ['d'] }), clickOf({ app_id })]
  await publishClicks(stage.broker, clicks)
  const view = `broken_${app_id}_mv`
  await clickhouse.command(
    `CREATE MATERIALIZED VIEW ${view} ENGINE = Null AS SELECT throwIf(countIf(app_id = '${app_id}') > 0) FROM clicks_raw_v1`,
  )
  let failures = 0
  const counting: Clickhouse = {
    ...clickhouse,
    insert: (block) =>
      clickhouse.insert(block).catch((error) => {
        failures += 1
        throw error
      }),
  }
  const running = await startWriter({ clickhouse: counting, ...stage })
  await until(() => failures > 1, 'failures')
  await clickhouse.command(`DROP VIEW ${view} SYNC`)
  await until(() => isDone(stage.broker), 'the clicks')
  await running.close()
  expect(await tablesOf(app_id)).toEqual(tablesWith(clicks))
})

test('re-decisions are on the list before their clicks are committed', async () => {
  const app_id = newAppId()
  const stage = makeStage()
  const click = clickOf({ app_id })
  const waiting = installOf({ app_id, named_click: { click_id: click.click_id, signature: 'valid' } })
  await storeFacts(clickhouse, [waiting])
  await publishClicks(stage.broker, [click])
  const seen: boolean[] = []
  const running = await startWriter(
    { clickhouse, ...stage },
    {
      crash(step) {
        if (step === 3) seen.push(stage.redecisions.names().length === 1 && !isDone(stage.broker))
      },
    },
  )
  await until(() => isDone(stage.broker), 'the click')
  await running.close()
  expect(seen).toEqual([true])
})

test('a batch that comes again puts the same bytes under the same name', async () => {
  const stage = makeStage()
  const app_id = newAppId()
  await publishClicks(stage.broker, [clickOf({ app_id }), clickOf({ app_id }), clickOf({ app_id })])
  const put: Record<string, string[]> = {}
  let left = 3
  const audit = {
    async putOnce(key: string, content: Buffer) {
      put[key] = [...(put[key] ?? []), content.toString('base64')]
      return stage.audit.putOnce(key, content)
    },
  }
  const crash = () => {
    if (left-- > 0) throw new Error('crash')
  }
  const running = await startWriter({ clickhouse, ...stage, audit, crash })
  await until(() => isDone(stage.broker), 'the clicks')
  await running.close()
  expect(Object.values(put).flat().length).toBeGreaterThanOrEqual(4)
  for (const contents of Object.values(put)) expect(new Set(contents).size).toBe(1)
  const folder = `clicks/${new Date(noon).toISOString().slice(0, 10).replaceAll('-', '/')}`
  const name = new RegExp(`^${folder}/[^/@]+/[01]/\\d+-\\d+\\.jsonl\\.gz$`)
  for (const key of Object.keys(put)) expect(key).toMatch(name)
})

test('nothing is written before the archive is durable', async () => {
  const stage = makeStage()
  const app_id = newAppId()
  const click = clickOf({ app_id })
  await publishClicks(stage.broker, [click])
  stage.audit.fault = new Error('the store is away')
  let tries = 0
  const running = await startWriter({
    ...{ clickhouse, ...stage },
    audit: {
      async putOnce(key, content) {
        tries += 1
        return stage.audit.putOnce(key, content)
      },
    },
  })
  await until(() => tries > 2, 'some tries')
  expect((await tablesOf(app_id)).clicks).toEqual([])
  stage.audit.fault = null
  await until(() => isDone(stage.broker), 'the click')
  await running.close()
  expect((await tablesOf(app_id)).clicks).toEqual([click.click_id])
})

test('PostgreSQL that is away holds up late clicks, and loses none', async () => {
  const stage = makeStage()
  const app_id = newAppId()
  stage.attributionApps.add({ app_id })
  const install = installOf({ app_id, ip: '203.0.113.7' })
  await storeFacts(clickhouse, [install])
  await publishClicks(stage.broker, [clickOf({ app_id, clicked_at_ms: noon - 1 })])
  stage.attributionApps.fault = new Error('PostgreSQL is away')
  const running = await startWriter({ clickhouse, ...stage })
  await until(() => stage.audit.objects.size > 0, 'a first try')
  expect(isDone(stage.broker)).toBe(false)
  stage.attributionApps.fault = null
  await until(() => isDone(stage.broker), 'the click')
  await running.close()
  expect(stage.redecisions.names()).toEqual([`${app_id}/${install.install_uuid}`])
})

test('a record that is no click, and one that ClickHouse refuses, become dead letters; the others are written', async () => {
  const stage = makeStage()
  const app_id = newAppId()
  const good = [clickOf({ app_id }), clickOf({ app_id }), clickOf({ app_id })]
  const refused = clickOf({ app_id, click_id: good[0]!.click_id, clicked_at_ms: 8.64e15 })
  await publishClicks(stage.broker, [good[0]!, refused, ...good.slice(1)])
  const wrong = { ...clickOf({ app_id }), v: 2 }
  await stage.broker.publish([
    { topic: topic.name, partition: 0, key: null, value: Buffer.from(JSON.stringify(wrong)) },
    { topic: topic.name, partition: 1, key: null, value: Buffer.from('{') },
  ])
  await runToEnd(clickhouse, stage)
  expect((await tablesOf(app_id)).clicks).toEqual(tablesWith(good).clicks)
  const letters = Array.from({ length: partitions }, (_, n) =>
    stage.broker.records(deadLetterTopic(topic).name, n),
  ).flat()
  expect(letters.map(({ headers }) => headers.reason).toSorted()).toEqual(['row_refused', 'undecodable', 'undecodable'])
  expect(JSON.parse(letters.find(({ headers }) => headers.reason === 'row_refused')!.value.toString())).toEqual(refused)
})

test('an erased click comes back to no table and no archive, and has no erased install decided again', async () => {
  const stage = makeStage()
  const erased = memoryTombstones()
  const app_id = newAppId()
  const device_hashes = ['d']
  const [gone, stays] = [clickOf({ app_id, device_hashes }), clickOf({ app_id, device_hashes })]
  const [old, living] = [installOf({ app_id, device_hashes }), installOf({ app_id, device_hashes })]
  await storeFacts(clickhouse, [old, living])
  erased.eraseClick(app_id, gone.click_id)
  erased.erase(app_id, old.install_uuid, old.received_at_ms)
  await publishClicks(stage.broker, [gone, stays])
  await runToEnd(clickhouse, { ...stage, erased })
  expect((await tablesOf(app_id)).clicks).toEqual([stays.click_id])
  const archived = await Array.fromAsync(readClickArchives(stage.audit))
  expect(archived.flatMap(({ clicks }) => clicks!.map(({ click_id }) => click_id))).toEqual([stays.click_id])
  expect(stage.redecisions.names()).toEqual([`${app_id}/${living.install_uuid}`])
})

test('the erasure of the last click that a partition wrote has nobody read the log again', async () => {
  const stage = makeStage()
  const erased = memoryTombstones()
  const app_id = newAppId()
  const [first, last] = [clickOf({ app_id }), clickOf({ app_id })]
  for (const click of [first, last]) {
    await publishClicks(stage.broker, [click])
    await runToEnd(clickhouse, { ...stage, erased })
  }
  for (const { click_id } of [first, last]) {
    erased.eraseClick(app_id, click_id)
    await clickhouse.command(`DELETE FROM clicks_raw_v1 WHERE click_id = '${click_id}'`)
  }
  const commits = () =>
    Array.from({ length: partitions }, (_, n) => stage.broker.committed('click-writer', topic.name, n))
  const before = commits()
  await runToEnd(clickhouse, { ...stage, erased })
  expect(commits()).toEqual(before)
})

test('a batch over days leaves an archive on each, where erasures look for its clicks', async () => {
  let ms = noon - 3 * day
  const stage = { ...makeStage(), broker: memoryBroker(partitions, () => ms) }
  const app_id = newAppId()
  const clicks: Click[] = []
  for (; ms <= noon; ms += day) {
    const click = clickOf({ app_id, clicked_at_ms: ms })
    clicks.push(click)
    await publishClicks(stage.broker, [click])
  }
  await runToEnd(clickhouse, stage)
  const archived = await Array.fromAsync(readClickArchives(stage.audit))
  expect(archived.map((one) => [one.key.slice(0, 17), one.clicks!.map(({ click_id }) => click_id)])).toEqual(
    clicks.map(({ click_id, clicked_at_ms }) => [
      `clicks/${new Date(clicked_at_ms).toISOString().slice(0, 10).replaceAll('-', '/')}`,
      [click_id],
    ]),
  )
})

test('an archive of an earlier day is noted with its apps before it is there, killed at each step', async () => {
  let ms = noon - 3 * day
  const stage = { ...makeStage(), broker: memoryBroker(partitions, () => ms) }
  const app_ids = [newAppId(), newAppId()]
  await publishClicks(
    stage.broker,
    app_ids.map((app_id) => clickOf({ app_id, clicked_at_ms: ms })),
  )
  ms = noon
  const noted = new Set<string>()
  let left = 1
  const note: LateDays['note'] = async (apps, on) => {
    if (left-- > 0) throw new Error('killed')
    for (const app_id of apps) noted.add(`${app_id}/${on}`)
  }
  const audit = {
    ...stage.audit,
    putOnce(key: string, content: Buffer) {
      for (const { app_id } of clicksIn(content))
        if (!noted.has(`${app_id}/${key.slice(7, 17).replaceAll('/', '-')}`))
          throw new Error('an archive without a note')
      return stage.audit.putOnce(key, content)
    },
  }
  await runToEnd(clickhouse, { ...stage, audit, late: { note } })
  expect(stage.audit.objects.size).toBeGreaterThan(0)
  expect([...noted].toSorted()).toEqual(app_ids.map((app_id) => `${app_id}/${utcDay(noon - 3 * day)}`).toSorted())
})

const clicksIn = (archive: Buffer): { app_id: string }[] =>
  gunzipSync(archive)
    .toString()
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line))
