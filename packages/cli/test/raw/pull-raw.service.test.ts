import { mkdtemp, readdir, readFile, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { day_ms } from '@tributary/contracts/limits'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { pullRaw } from '../../src/raw/pull-raw.ts'
import { type FakeService, type Reply, startService } from '../fake-service.ts'

const day = Date.UTC(2026, 5, 1)
const noon = (n: number) => day + n * day_ms + day_ms / 2

/** A service that holds rows by their time of storing, complete up to a time. */
const stored = {
  rows: [] as number[],
  complete_until_ms: 0,
  epoch: 'e1',
  cut_at_ms: Number.POSITIVE_INFINITY,
  broken: false,
}
const asked: string[] = []
let service: FakeService
beforeAll(async () => {
  service = await startService(({ path }): Reply => {
    const { searchParams } = new URL(path, 'http://x')
    const since_ms = Number(searchParams.get('since_ms'))
    const { complete_until_ms, epoch, cut_at_ms } = stored
    const cut_ms = cut_at_ms > since_ms ? cut_at_ms : Number.POSITIVE_INFINITY
    const until_ms = Math.max(since_ms, Math.min(Number(searchParams.get('until_ms')), complete_until_ms, cut_ms))
    asked.push(`${new Date(since_ms).toISOString()} ${searchParams.get('format')}`)
    const rows = stored.rows.filter((ms) => ms >= since_ms && ms < until_ms)
    const headers = { 'x-until-ms': `${until_ms}`, 'x-complete-until-ms': `${complete_until_ms}`, 'x-raw-epoch': epoch }
    return { status: 200, headers, text: rows.map((ms) => `{"at":${ms}}\n`).join(''), broken_off: stored.broken }
  })
})
afterAll(() => service.close())

async function newFolder() {
  const folder = await mkdtemp(join(tmpdir(), 'tributary-raw-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  Object.assign(stored, { rows: [], epoch: 'e1', cut_at_ms: Number.POSITIVE_INFINITY, broken: false })
  asked.length = 0
  return folder
}

const pull = (folder: string, until_ms = day + 10 * day_ms, since_ms = day) =>
  pullRaw({ url: service.url, key: 'srv_x', table: 'events', format: 'jsonl', since_ms, until_ms, folder })
const filesOf = async (folder: string) => (await readdir(folder)).filter((name) => !name.startsWith('.')).toSorted()
const rowsOf = async (folder: string) =>
  (await Promise.all((await filesOf(folder)).map((name) => readFile(join(folder, name), 'utf8'))))
    .join('')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line).at)

test('each day is a file, and a run goes on with the day that was not over', async () => {
  const folder = await newFolder()
  stored.rows = [noon(0), noon(1)]
  stored.complete_until_ms = noon(1) + 1
  expect(await pull(folder)).toEqual({
    files: [
      { name: 'events-2026-06-01.jsonl', rows: 1, since_ms: day, until_ms: day + day_ms },
      { name: 'events-2026-06-02.jsonl', rows: 1, since_ms: day + day_ms, until_ms: noon(1) + 1 },
    ],
    complete_until_ms: noon(1) + 1,
  })
  stored.rows.push(noon(1) + 5, noon(2))
  stored.complete_until_ms = noon(2) + 1
  asked.length = 0
  const { files } = await pull(folder)
  expect(files.map(({ name, rows }) => [name, rows])).toEqual([
    ['events-2026-06-02.jsonl', 2],
    ['events-2026-06-03.jsonl', 1],
  ])
  expect(asked[0]).toBe('2026-06-02T00:00:00.000Z jsonl')
  expect(await rowsOf(folder)).toEqual(stored.rows)
})

test('a folder that has one format of a table gets all of the other', async () => {
  const folder = await newFolder()
  stored.rows = [noon(0)]
  stored.complete_until_ms = day + day_ms
  await pull(folder, day + day_ms)
  await rename(join(folder, 'events-2026-06-01.jsonl'), join(folder, 'events-2026-06-01.parquet'))
  const states = (await readdir(folder)).filter((name) => name.startsWith('.'))
  await rename(join(folder, states[0]!), join(folder, states[0]!.replace('jsonl', 'parquet')))
  expect((await pull(folder, day + day_ms)).files).toHaveLength(1)
  expect(await filesOf(folder)).toEqual(['events-2026-06-01.jsonl', 'events-2026-06-01.parquet'])
})

test('a run that begins or ends within a day keeps the rows of the day that an earlier run pulled', async () => {
  const folder = await newFolder()
  stored.rows = [noon(0) - 1, noon(0), noon(0) + 1]
  stored.complete_until_ms = day + day_ms
  await pull(folder, noon(0) + 1, noon(0))
  expect(await rowsOf(folder)).toEqual([noon(0)])
  await pull(folder, noon(0), day)
  expect(await rowsOf(folder)).toEqual([noon(0) - 1, noon(0)])
  await pull(folder, day + day_ms, noon(0))
  expect(await rowsOf(folder)).toEqual(stored.rows)
  expect((await pull(folder, noon(0) + 1, noon(0))).files).toEqual([])
  expect(await rowsOf(folder)).toEqual(stored.rows)
})

test('an answer that is broken off leaves no file, and the next run pulls the day', async () => {
  const folder = await newFolder()
  stored.rows = [noon(0)]
  stored.complete_until_ms = day + day_ms
  stored.broken = true
  await expect(pull(folder, day + day_ms)).rejects.toMatchObject({ code: 'unavailable' })
  expect(await readdir(folder)).toEqual([])
  stored.broken = false
  await pull(folder, day + day_ms)
  expect(await rowsOf(folder)).toEqual([noon(0)])
  expect((await pull(folder, day + day_ms)).files).toEqual([])
})

test('a day that comes in several answers has several files, again and again', async () => {
  const folder = await newFolder()
  stored.rows = [noon(0), noon(0) + 1, noon(0) + 2]
  stored.complete_until_ms = day + day_ms
  stored.cut_at_ms = noon(0) + 1
  await pull(folder, day + day_ms)
  expect(await filesOf(folder)).toEqual(['events-2026-06-01.2.jsonl', 'events-2026-06-01.jsonl'])
  expect((await rowsOf(folder)).toSorted()).toEqual(stored.rows)
  stored.cut_at_ms = Number.POSITIVE_INFINITY
  await pull(folder, day + day_ms)
  expect((await rowsOf(folder)).toSorted()).toEqual(stored.rows)
})

test('a folder of another epoch is not filled further', async () => {
  const folder = await newFolder()
  stored.complete_until_ms = day + day_ms
  await pull(folder)
  stored.epoch = 'e2'
  stored.complete_until_ms = day + 2 * day_ms
  await expect(pull(folder)).rejects.toMatchObject({ code: 'raw_epoch_changed' })
  expect(await filesOf(folder)).toEqual(['events-2026-06-01.jsonl', 'events-2026-06-02.jsonl'])
})
