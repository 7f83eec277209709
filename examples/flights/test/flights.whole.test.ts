import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { type StandaloneProcess, startStandaloneProcess } from '@tributary/testing/standalone/standalone-process'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { convert } from '../convert.ts'
import { expectedReport } from '../expected.ts'

const main = join(import.meta.dirname, '..', '..', '..', 'packages', 'cli', 'src', 'main.ts')
const csv = join(import.meta.dirname, '..', 'flights-2013-01.csv.gz')
const january = ['--since', '2013-01-01', '--until', '2013-02-01', '--limit', '1000']

describe('a month of flights', () => {
  let folder: string
  let service: StandaloneProcess

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'tributary-flights-'))
    service = await startStandaloneProcess({ data_dir: join(folder, 'data') })
  })
  afterAll(async () => {
    await service.stop('SIGTERM')
    await rm(folder, { recursive: true, force: true })
  })

  const start = (...words: string[]) => {
    const env = { PATH: process.env.PATH, TRIBUTARY_URL: service.url, TRIBUTARY_DATA_DIR: join(folder, 'data') }
    return spawn(process.execPath, [main, ...words, '--json'], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  }
  const tributary = async (...words: string[]) => {
    const child = start(...words)
    const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
    expect(stderr).toBe('')
    return JSON.parse(stdout)
  }
  const reportOf = async (key: string) => {
    await tributary('status', '--wait')
    return (await tributary('reports', 'events', '--key', key, ...january)).rows
  }

  it('reports exactly the counts of the CSV, after a kill -9, a resume and a second load', async () => {
    const expected = await expectedReport(csv, Date.UTC(2013, 0, 1), Date.UTC(2013, 1, 1))
    const { company_id } = await tributary('company', 'create', '--name', 'Flights')
    const { app_id } = await tributary('app', 'create', '--company', company_id, '--name', 'F', '--platform', 'android')
    const { key } = await tributary('key', 'create', '--app', app_id, '--label', 'flights')
    const file = join(folder, 'flights.jsonl')
    await convert(csv, file)

    const killed = start('backfill', '--key', key, file)
    await linesDone(file, 3000)
    killed.kill('SIGKILL')
    await once(killed, 'close')
    expect(await tributary('backfill', '--key', key, file, '--resume')).toEqual({
      accepted: expected.accepted,
      rejected: expected.rejected,
      duplicates_possible: 0,
      seconds: expect.any(Number),
    })
    expect(await reportOf(key)).toEqual(expected.rows)

    const rejected = (await readFile(`${file}.rejected.jsonl`, 'utf8')).trim().split('\n')
    expect(rejected).toHaveLength(expected.rejected)
    const lines = (await readFile(file, 'utf8')).split('\n')
    for (const { line, reason, text: kept } of rejected.map((one) => JSON.parse(one))) {
      expect({ reason, kept }).toEqual({ reason: 'missing_required_fields', kept: lines[line - 1] })
    }

    // A second load from the start: all events are duplicates, and no report changes.
    expect(await tributary('backfill', '--key', key, file)).toMatchObject({ accepted: expected.accepted })
    expect(await reportOf(key)).toEqual(expected.rows)
  })
})

/** Waits until a running backfill has saved this many lines as done. */
async function linesDone(file: string, lines: number): Promise<void> {
  const deadline = performance.now() + 30_000
  for (;;) {
    const state = await readFile(`${file}.backfill.json`, 'utf8').catch(() => '{"line":0}')
    if (JSON.parse(state).line >= lines) return
    if (performance.now() > deadline) throw new Error('the backfill made no progress')
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}
