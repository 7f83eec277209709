import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { reportNames } from '@tributary/contracts/reports'
import { type StandaloneProcess, startStandaloneProcess } from '@tributary/testing/standalone/standalone-process'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { convert } from '../convert.ts'

const main = join(import.meta.dirname, '..', '..', '..', 'packages', 'cli', 'src', 'main.ts')
const csv = join(import.meta.dirname, '..', 'flights-2013-01.csv.gz')
const expected_folder = join(import.meta.dirname, '..', 'expected', '2013-01')
/** Flights have no postbacks and no costs, so `expected.awk` has no figures of them. */
/** Flights have none of what these are about. */
const others: readonly string[] = ['skan', 'costs', 'performance', 'receipts']
const reports = reportNames.filter((name) => !others.includes(name))
/** Rows of the file with a tail number, and rows without. */
const [accepted, rejected_rows] = [26_711, 154]
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
  const reportsOf = async (key: string) => {
    await tributary('status', '--wait')
    const found: Record<string, object[]> = {}
    for (const name of reports) found[name] = (await tributary('reports', name, '--key', key, ...january)).rows
    return found
  }

  it('gives the figures of the CSV in every report, after a kill -9, a resume and a second load', async () => {
    const expected = Object.fromEntries(await Promise.all(reports.map(async (name) => [name, await keptRows(name)])))
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
      accepted,
      rejected: rejected_rows,
      duplicates_possible: 0,
      seconds: expect.any(Number),
    })
    expect(await reportsOf(key)).toEqual(expected)

    const rejected = (await readFile(`${file}.rejected.jsonl`, 'utf8')).trim().split('\n')
    expect(rejected).toHaveLength(rejected_rows)
    const lines = (await readFile(file, 'utf8')).split('\n')
    for (const { line, reason, text: kept } of rejected.map((one) => JSON.parse(one))) {
      expect({ reason, kept }).toEqual({ reason: 'missing_required_fields', kept: lines[line - 1] })
    }

    // A second load from the start: all events are duplicates, and no report changes.
    expect(await tributary('backfill', '--key', key, file)).toMatchObject({ accepted })
    expect(await reportsOf(key)).toEqual(expected)
  })
})

/** Rows that `expected.awk` printed, with numbers as a report gives them. */
async function keptRows(report: string): Promise<object[]> {
  const [head = '', ...lines] = (await readFile(join(expected_folder, `${report}.tsv`), 'utf8')).trim().split('\n')
  const columns = head.split('\t')
  const cellOf = (text: string) => (/^-?[\d.]+$/.test(text) ? Number(text) : text)
  return lines.map((line) => Object.fromEntries(line.split('\t').map((text, n) => [columns[n], cellOf(text)])))
}

/** Waits until a running backfill has saved this many lines as done. */
async function linesDone(file: string, lines: number): Promise<void> {
  const deadline = performance.now() + 180_000
  for (;;) {
    const state = await readFile(`${file}.backfill.json`, 'utf8').catch(() => '{"line":0}')
    if (JSON.parse(state).line >= lines) return
    if (performance.now() > deadline) throw new Error('the backfill made no progress')
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}
