import { join } from 'node:path'
import type { SmallDisk } from '../engines/data/small-disk.ts'
import type { Verdict } from '../verify-events.ts'
import { client, compare, type LoadTarget } from './kill-run.ts'
import { type StandaloneProcess, startStandaloneProcess, waitUntilWritten } from './standalone-process.ts'

export interface FullDiskRunOptions {
  /** The disk has 400 MB at least: the engines alone need 100 MB. */
  disk: SmallDisk
  rounds: number
  clients: number
  /** Batches acknowledged before the disk is filled, and after it was freed. */
  batches: number
  /** The signal that ends the process in each round. */
  signal: NodeJS.Signals
  random: () => number
}

export interface FullDiskRunResult extends Verdict {
  rounds: number
  /** Exit code of each stop; null when the process was killed, or missed its deadline. */
  stops: (number | null)[]
  /** Lines that the processes logged as errors. They explain a run that is not exact. */
  errors: string[]
}

const wait_ms_max = 120_000
const left_bytes_max = 4 * 1024 * 1024

/**
 * Fills the disk of a standalone process that takes events, frees it, waits until events are accepted again, and restarts
 * the process. In the end it compares the answers with the rows in the tables.
 */
export async function runFullDisk(options: FullDiskRunOptions): Promise<FullDiskRunResult> {
  const { disk, rounds, clients, batches, signal, random } = options
  const data_dir = join(disk.dir, 'data')
  const acknowledged = new Set<string>()
  const unanswered = new Set<string>()
  const stops: (number | null)[] = []
  let output = ''
  const start = () => startStandaloneProcess({ data_dir })
  let standalone = await start()
  const target: LoadTarget = { standalone, ended: false }
  const demo = standalone.demo()
  const load = Array.from({ length: clients }, (_, n) => client(target, demo, n % 2 === 0, acknowledged, unanswered))
  const moreAcknowledged = (what: string) => {
    const enough = acknowledged.size + batches
    return until(what, () => acknowledged.size >= enough)
  }
  try {
    for (let round = 0; round < rounds; round += 1) {
      await moreAcknowledged('events before the disk is full')
      await disk.fill(Math.floor(random() * left_bytes_max))
      await until('/ready is 503', async () => (await readyStatus(standalone)) === 503)
      await disk.free()
      await until('/ready is 200', async () => (await readyStatus(standalone)) === 200)
      await moreAcknowledged('events after the disk is free')
      target.standalone = null
      stops.push(await standalone.stop(signal))
      output += standalone.output()
      standalone = await start()
      target.standalone = standalone
    }
    target.ended = true
    await Promise.all(load)
    await waitUntilWritten(standalone.url, data_dir)
    await standalone.stop('SIGTERM')
    output += standalone.output()
  } catch (error) {
    target.ended = true
    await standalone.stop('SIGKILL')
    throw new Error(`${(error as Error).message}\n${standalone.output().slice(-8000)}`, { cause: error })
  }
  const errors = output.split('\n').filter((line) => /"level":"(error|fatal)"/.test(line))
  return { rounds, stops, errors, ...(await compare(data_dir, acknowledged, unanswered)) }
}

const readyStatus = ({ url }: StandaloneProcess): Promise<number> =>
  fetch(`${url}/ready`).then(
    ({ status }) => status,
    () => 0,
  )

async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = Date.now() + wait_ms_max
  while (!(await holds())) {
    if (Date.now() > deadline) throw new Error(`not in time: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}
