import { createWriteStream } from 'node:fs'
import { mkdir, open as openFile, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable, Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { day_ms } from '@tributary/contracts/limits'
import type { RawFormat, RawTableName } from '@tributary/contracts/raw-tables'
import { CliError } from '../errors.ts'
import { open } from '../http.ts'
import { countParquetRows } from './parquet-rows.ts'

export interface PullOptions {
  url: string
  key: string
  table: RawTableName
  format: RawFormat
  /** Inclusive start, Unix epoch ms. What an earlier run has pulled whole is not pulled again. */
  since_ms: number
  /** Exclusive end, Unix epoch ms. */
  until_ms: number
  folder: string
}

/** A window of the time of storing: inclusive start and exclusive end, Unix epoch ms. */
interface Window {
  since_ms: number
  until_ms: number
}

interface PulledFile extends Window {
  name: string
  rows: number
}

export interface Pulled {
  files: PulledFile[]
  /** Everything with a lesser `stored_at_ms` is stored, Unix epoch ms; null when nothing was asked. */
  complete_until_ms: number | null
}

/** The state of a folder, which a file of it keeps. */
interface FolderState {
  /** Null before the first answer. */
  epoch: string | null
  /** The windows of the files, by name. Those of a day follow each other. */
  files: Map<string, Window>
}

/**
 * Pulls a table into a folder, a file for each day of storing. Each file is written beside its name and renamed, so what
 * is there is whole. A day that was not over is pulled again. May be killed and repeated.
 */
export async function pullRaw(options: PullOptions): Promise<Pulled> {
  const { folder, since_ms, until_ms } = options
  await mkdir(folder, { recursive: true })
  const state = await readState(options)
  const pulled: Pulled = { files: [], complete_until_ms: null }
  for (let at = since_ms; at < until_ms; ) {
    const end_ms = Math.min((Math.floor(at / day_ms) + 1) * day_ms, until_ms)
    const window = withPulled(state, { since_ms: at, until_ms: end_ms })
    const reached_ms = window === null ? end_ms : await pullDay(options, window, state, pulled)
    if (reached_ms < end_ms) break
    at = end_ms
  }
  return pulled
}

/** A window within a day, widened to what the files of the day hold; null when they hold it all. */
function withPulled({ files }: FolderState, { since_ms, until_ms }: Window): Window | null {
  const day = Math.floor(since_ms / day_ms)
  const windows = [...files.values()].filter((one) => Math.floor(one.since_ms / day_ms) === day)
  const start_ms = Math.min(...windows.map((one) => one.since_ms))
  const end_ms = Math.max(...windows.map((one) => one.until_ms))
  if (start_ms <= since_ms && until_ms <= end_ms) return null
  return { since_ms: Math.min(since_ms, start_ms), until_ms: Math.max(until_ms, end_ms) }
}

/** Pulls a day, mostly into one file; a day whose rows come in several answers has several. Gives back how far it came. */
async function pullDay(
  options: PullOptions,
  { since_ms, until_ms }: Window,
  state: FolderState,
  pulled: Pulled,
): Promise<number> {
  const { table, format, folder } = options
  const stem = `${table}-${new Date(since_ms).toISOString().slice(0, 10)}`
  const nameOf = (n: number) => (n === 1 ? `${stem}.${format}` : `${stem}.${n}.${format}`)
  // The first file may have more rows than before, those of later files too.
  for (let n = 2; state.files.has(nameOf(n)); n += 1) {
    state.files.delete(nameOf(n))
    // Before the file goes: a run that is killed here pulls its rows again.
    await writeState(options, state)
    await rm(join(folder, nameOf(n)), { force: true })
  }
  let reached_ms = since_ms
  for (let n = 1; reached_ms < until_ms; n += 1) {
    const { file, complete_until_ms } = await pullFile(options, nameOf(n), reached_ms, until_ms, state)
    pulled.files.push(file)
    pulled.complete_until_ms = complete_until_ms
    reached_ms = file.until_ms
    if (reached_ms >= complete_until_ms) break
  }
  return reached_ms
}

async function pullFile(options: PullOptions, name: string, since_ms: number, until_ms: number, state: FolderState) {
  const { url, key, table, format, folder } = options
  const query = new URLSearchParams({ since_ms: `${since_ms}`, until_ms: `${until_ms}`, format })
  const response = await open(`${url}/api/v1/raw/${table}?${query}`, { headers: { authorization: `Bearer ${key}` } })
  const epoch = response.headers.get('x-raw-epoch')
  if (state.epoch !== null && state.epoch !== epoch) {
    await response.body?.cancel()
    throw new CliError(
      'raw_epoch_changed',
      `The tables were put back or lost rows since ${folder} was filled: pull all again, into an empty folder.`,
    )
  }
  const end_ms = Number(response.headers.get('x-until-ms'))
  const rows = await writeWhole(join(folder, name), response, format)
  state.epoch = epoch
  state.files.set(name, { since_ms, until_ms: end_ms })
  await writeState(options, state)
  const complete_until_ms = Number(response.headers.get('x-complete-until-ms'))
  return { file: { name, rows, since_ms, until_ms: end_ms }, complete_until_ms }
}

/** Writes an answer beside the path, and renames it once it is whole and durable. Gives back its rows. */
async function writeWhole(path: string, response: Response, format: RawFormat): Promise<number> {
  const part = `${path}.part`
  let lines = 0
  const count = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, at + 1)) lines += 1
      done(null, chunk)
    },
  })
  const body = Readable.fromWeb(response.body as Parameters<typeof Readable.fromWeb>[0])
  try {
    await pipeline(body, count, createWriteStream(part, { flush: true }))
  } catch (cause) {
    await rm(part, { force: true })
    throw new CliError('unavailable', `The answer for ${path} was broken off: run the command again. (${cause})`)
  }
  const rows = format === 'jsonl' ? lines : await countParquetRows(part)
  await rename(part, path)
  return rows
}

/** A folder may have both formats of a table, each whole. */
const statePath = ({ folder, table, format }: PullOptions) => join(folder, `.tributary-raw-${table}-${format}.json`)

async function readState(options: PullOptions): Promise<FolderState> {
  const path = statePath(options)
  try {
    const { epoch, files } = JSON.parse(await readFile(path, 'utf8'))
    return { epoch, files: new Map(Object.entries(files)) }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { epoch: null, files: new Map() }
    throw new CliError('bad_folder', `${path} cannot be read: pull into an empty folder.`)
  }
}

async function writeState(options: PullOptions, state: FolderState): Promise<void> {
  const path = statePath(options)
  const file = await openFile(`${path}.part`, 'w')
  try {
    await file.writeFile(JSON.stringify({ epoch: state.epoch, files: Object.fromEntries(state.files) }))
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(`${path}.part`, path)
}
