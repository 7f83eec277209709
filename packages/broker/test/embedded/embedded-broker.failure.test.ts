import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openEmbeddedBroker } from '@tributary/broker/embedded'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'

const script = fileURLToPath(new URL('append-until-killed.ts', import.meta.url))
const topic = 'killed.runs.v1'

let dir: string
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'tributary-log-'))
})
afterEach(() => rm(dir, { recursive: true, force: true }))

/** Everything in the log, as `<run> <publisher> <n> <part>` per partition; throws on a record that is not whole. */
async function readAll(): Promise<string[][]> {
  const broker = await openEmbeddedBroker({ dir, now: Date.now, partitions: 2 })
  const total = (await broker.groupOffsets('reader', topic)).reduce((sum, { end }) => sum + end, 0)
  const found: string[][] = [[], []]
  const consumption = await broker.consume({
    group: 'reader',
    topic,
    bytes_min: 1,
    bytes_max: 8 * 1024 * 1024,
    wait_ms_max: 10,
    async onChunk({ partition, records }) {
      for (const { value, offset, key } of records) {
        const text = value.toString()
        const [, name, publisher] = /^((?:\d+) (\d+) \d+ \d+) x{3000}$/.exec(text) ?? []
        if (name === undefined || publisher !== key) throw new Error(`half a record: ${text.slice(0, 50)}`)
        if (offset !== found[partition]!.length) throw new Error(`gap at ${offset}`)
        found[partition]!.push(name)
      }
    },
  })
  await vi.waitFor(() => expect(found.flat()).toHaveLength(total), { timeout: 180_000, interval: 10 })
  await consumption.close()
  await broker.close()
  return found
}

/** Of a publisher's calls everything acknowledged is there in order, at most one more, and no call in part. */
function expectWhole(found: string[][], run: number, acknowledged: readonly string[]) {
  for (const publisher of [0, 1, 2, 3]) {
    const calls = acknowledged.filter((line) => line.startsWith(`${run} ${publisher} `)).length
    const even = found[0]!.filter((name) => name.startsWith(`${run} ${publisher} `))
    const odd = found[1]!.filter((name) => name.startsWith(`${run} ${publisher} `))
    expect([calls, calls + 1]).toContain(odd.length)
    const expected = Array.from({ length: odd.length }, (_, n) =>
      [0, 2].map((part) => `${run} ${publisher} ${n} ${part}`),
    )
    expect(even).toEqual(expected.flat())
    expect(odd).toEqual(Array.from({ length: odd.length }, (_, n) => `${run} ${publisher} ${n} 1`))
  }
}

it('holds every acknowledged record, whole and in order, after each of several kill -9', async () => {
  const acknowledged: string[] = []
  for (let run = 0; run < 5; run += 1) {
    const child = spawn(process.execPath, [script, dir, `${run}`], { stdio: ['ignore', 'pipe', 'inherit'] })
    let output = ''
    child.stdout.on('data', (data: Buffer) => {
      output += data
    })
    const enough = 200 + Math.floor(Math.random() * 400)
    await vi.waitFor(() => expect(output.split('\n').length).toBeGreaterThan(enough), { timeout: 180_000, interval: 2 })
    child.kill('SIGKILL')
    await once(child, 'close')
    acknowledged.push(...output.split('\n').filter((line) => line !== ''))
    const found = await readAll()
    for (let past = 0; past <= run; past += 1) expectWhole(found, past, acknowledged)
  }
})

it('rejects when the disk takes no more, and holds what it acknowledged', async () => {
  // The limit on file size stands in for a full disk; the signal that comes with it is ignored, as on a full disk.
  const limited = `trap '' XFSZ; ulimit -f 20000; exec "$0" "$@"`
  const child = spawn('/bin/sh', ['-c', limited, process.execPath, script, dir, '0'], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  child.stdout.on('data', (data: Buffer) => {
    output += data
  })
  const [code] = await once(child, 'close')
  const lines = output.split('\n').filter((line) => line !== '')
  expect([code, lines.at(-1)]).toEqual([0, 'rejected unhealthy'])
  expect(lines.length).toBeGreaterThan(100)
  expectWhole(await readAll(), 0, lines.slice(0, -1))
})
