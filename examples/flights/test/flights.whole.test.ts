import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { convert } from '../convert.ts'
import { expectedReport } from '../expected.ts'

const root = join(import.meta.dirname, '..', '..', '..')
const csv = join(import.meta.dirname, '..', 'flights-2013-01.csv.gz')

describe('a month of flights', () => {
  let folder: string
  let service: ChildProcess
  let env: NodeJS.ProcessEnv

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'tributary-flights-'))
    env = {
      ...process.env,
      TRIBUTARY_DATA_DIR: join(folder, 'data'),
      TRIBUTARY_PORT: '0',
      TRIBUTARY_LOG_LEVEL: 'error',
    }
    const main = join(root, 'services', 'standalone', 'src', 'main.ts')
    service = spawn(process.execPath, [main], { cwd: folder, env, stdio: ['ignore', 'pipe', 'inherit'] })
    env.TRIBUTARY_URL = await addressOf(service)
  })
  afterAll(async () => {
    if (service.exitCode === null && service.signalCode === null) {
      service.kill('SIGTERM')
      await once(service, 'exit')
    }
    await rm(folder, { recursive: true, force: true })
  })

  const tributary = async (...words: string[]) => {
    const main = join(root, 'packages', 'cli', 'src', 'main.ts')
    const child = spawn(process.execPath, [main, ...words, '--json'], { env, stdio: ['ignore', 'pipe', 'pipe'] })
    const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
    expect(stderr).toBe('')
    return JSON.parse(stdout)
  }

  it('reports exactly what the CSV says, with every row without a tail number named', async () => {
    const since_ms = Date.UTC(2013, 0, 1)
    const until_ms = Date.UTC(2013, 1, 1)
    const expected = await expectedReport(csv, since_ms, until_ms)
    const { company_id } = await tributary('company', 'create', '--name', 'Flights')
    const { app_id } = await tributary('app', 'create', '--company', company_id, '--name', 'F', '--platform', 'android')
    const { key } = await tributary('key', 'create', '--app', app_id, '--label', 'flights')
    const file = join(folder, 'flights.jsonl')
    await convert(csv, file)

    const loaded = await tributary('backfill', '--key', key, file)
    expect(loaded).toEqual({
      accepted: expected.accepted,
      rejected: expected.rejected,
      duplicates_possible: 0,
      seconds: expect.any(Number),
    })
    await tributary('status', '--wait')
    const window = ['--since', '2013-01-01', '--until', '2013-02-01', '--limit', '1000']
    const report = await tributary('reports', 'events', '--key', key, ...window)
    expect(report.rows).toEqual(expected.rows)

    const rejected = (await readFile(`${file}.rejected.jsonl`, 'utf8')).trim().split('\n')
    expect(rejected).toHaveLength(expected.rejected)
    const lines = (await readFile(file, 'utf8')).split('\n')
    for (const { line, reason, text: kept } of rejected.map((one) => JSON.parse(one))) {
      expect(reason).toBe('missing_required_fields')
      expect(kept).toBe(lines[line - 1])
    }

    // Loaded again from the start: all are duplicates, and no report changes.
    expect(await tributary('backfill', '--key', key, file)).toMatchObject({ accepted: expected.accepted })
    await tributary('status', '--wait')
    expect((await tributary('reports', 'events', '--key', key, ...window)).rows).toEqual(expected.rows)
  })
})

async function addressOf(service: ChildProcess): Promise<string> {
  if (service.stdout === null) throw new Error('stdout is piped')
  for await (const line of createInterface({ input: service.stdout })) {
    const [, address] = /^Tributary is ready at (\S+)$/.exec(line) ?? []
    if (address === undefined) continue
    service.stdout.resume()
    return address
  }
  throw new Error('the service ended before it was ready')
}
