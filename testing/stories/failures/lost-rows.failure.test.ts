import { execFile, execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { openEmbeddedClickhouse } from '@tributary/clickhouse/embedded'
import { client, compare, type LoadTarget } from '@tributary/testing/standalone/kill-run'
import {
  type StandaloneProcess,
  startStandaloneProcess,
  waitUntilWritten,
} from '@tributary/testing/standalone/standalone-process'
import { isExact } from '@tributary/testing/verify-events'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, vi } from 'vitest'

const scratch = mkdtempSync(join(tmpdir(), 'tributary-lost-rows-'))
/** The folder of a process that took events and was stopped. Each test copies it. */
const filled = join(scratch, 'filled')
const sent = { acknowledged: new Set<string>(), unanswered: new Set<string>() }
let data_dir = filled
let { acknowledged, unanswered } = sent
beforeAll(async () => {
  const standalone = await start()
  expect(await troublesOf(standalone)).toEqual([])
  await load(standalone, 60)
  expect(await standalone.stop('SIGTERM')).toBe(0)
})
beforeEach(() => {
  data_dir = join(scratch, randomUUID())
  execFileSync('cp', ['-a', filled, data_dir])
  acknowledged = new Set(sent.acknowledged)
  unanswered = new Set(sent.unanswered)
})
afterEach(() => rmSync(data_dir, { recursive: true, force: true }))
afterAll(() => rmSync(scratch, { recursive: true, force: true }))

const start = () => startStandaloneProcess({ data_dir, env: { TRIBUTARY_LOG_LEVEL: 'info' } })

const troublesOf = async ({ url }: StandaloneProcess) =>
  ((await (await fetch(`${url}/health`)).json()) as { troubles?: object[] }).troubles ?? []

/** Sends until so many more batches were acknowledged, and waits until they are written. */
async function load(standalone: StandaloneProcess, batches: number): Promise<void> {
  const target: LoadTarget = { standalone, ended: false }
  const clients = Array.from({ length: 4 }, () => client(target, standalone.demo(), true, acknowledged, unanswered))
  const wanted = acknowledged.size + batches
  await vi.waitFor(() => expect(acknowledged.size).toBeGreaterThan(wanted), { timeout: 180_000 })
  target.ended = true
  await Promise.all(clients)
  await waitUntilWritten(standalone.url, data_dir)
}

/** What happens to the engine's files while nobody runs. */
async function damage(work: (clickhouse: Clickhouse) => Promise<void>): Promise<void> {
  const clickhouse = await openEmbeddedClickhouse({ data_dir: join(data_dir, 'clickhouse') })
  try {
    // A part that was listed would be gone.
    await clickhouse.command('SYSTEM STOP MERGES')
    await work(clickhouse)
  } finally {
    await clickhouse.close()
  }
}

async function newestParts(clickhouse: Clickhouse) {
  return clickhouse.query<{ table: string; part: string }>(`
    SELECT table, argMax(name, max_block_number) AS part FROM system.parts
    WHERE active AND database = 'tributary' AND table != 'schema_migrations_v1' GROUP BY table`)
}

it.each([
  ['a part of events_raw_v1', ['events_raw_v1']],
  // A power cut does this on a disk that does not keep what it acknowledged.
  ['the newest part of every table', null],
])('events that the tables lost with %s are written again from the log, and counted once', async (_what, lost) => {
  await damage(async (clickhouse) => {
    for (const { table, part } of await newestParts(clickhouse)) {
      if (lost === null || lost.includes(table)) await clickhouse.command(`ALTER TABLE ${table} DROP PART '${part}'`)
    }
  })
  const again = await start()
  await waitUntilWritten(again.url, data_dir)
  expect(again.output()).toContain('the log is read again')
  await load(again, 10)
  expect(await again.stop('SIGTERM')).toBe(0)
  const verdict = await compare(data_dir, acknowledged, unanswered)
  expect(verdict, JSON.stringify(verdict)).toSatisfy(isExact)
  expect(verdict.in_events_raw).toBeGreaterThan(70 * 20)
})

it('tables that stay while the log is made anew count what comes, and what is sent again once', async () => {
  rmSync(join(data_dir, 'log'), { recursive: true })
  const again = await start()
  await load(again, 30)
  expect(await again.stop('SIGTERM')).toBe(0)
  const verdict = await compare(data_dir, acknowledged, unanswered)
  expect(verdict, JSON.stringify(verdict)).toSatisfy(isExact)
})

it('an emptied ClickHouse is filled again from the log at the next start', async () => {
  rmSync(join(data_dir, 'clickhouse'), { recursive: true })
  const again = await start()
  await waitUntilWritten(again.url, data_dir)
  await load(again, 5)
  expect(await again.stop('SIGTERM')).toBe(0)
  const verdict = await compare(data_dir, acknowledged, unanswered)
  expect(verdict, JSON.stringify(verdict)).toSatisfy(isExact)
})

it('tables and log that are both gone are a trouble, until a replay of the audit store has brought their events back', async () => {
  for (const folder of ['clickhouse', 'log']) rmSync(join(data_dir, folder), { recursive: true })
  const first = await start()
  expect(first.output()).toContain('Tables and log are empty')
  await load(first, 5)
  expect(await first.stop('SIGTERM')).toBe(0)
  // The log and the tables that were begun since show no loss.
  const again = await start()
  expect(await troublesOf(again)).toMatchObject([{ code: 'events_lost', fix: 'npx tributary replay --from-audit' }])
  const env = { ...process.env, TRIBUTARY_URL: again.url, TRIBUTARY_DATA_DIR: data_dir }
  const command = join(import.meta.dirname, '..', '..', '..', 'packages', 'cli', 'bin', 'tributary.mjs')
  await promisify(execFile)(process.execPath, [command, 'replay', '--from-audit'], { env })
  expect(await troublesOf(again)).toEqual([])
  await waitUntilWritten(again.url, data_dir)
  expect(await again.stop('SIGTERM')).toBe(0)
  const verdict = await compare(data_dir, acknowledged, unanswered)
  expect(verdict, JSON.stringify(verdict)).toSatisfy(isExact)
})
