// Preloaded into a process (`node --import`). Its clock stands at the time that the file HELD_CLOCK names (`{"now_ms", "wakes"}`).
// Its jobs rest: a pause between two runs ends when `wakes` grows and never by itself. The file HELD_CLOCK.jobs tells how many
// rest. Timers of requests go on. Apple's public keys are those of the file HELD_CLOCK.keys, by the base64 of the original.
import crypto from 'node:crypto'
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import timers from 'node:timers/promises'

/** Pauses of at least so long that a signal may end are those of jobs. */
const job_pause_ms_min = 1000
/** Longest time for which a process believes what it has read. */
const believed_ms = 1

const file = process.env.HELD_CLOCK
const SystemDate = Date
let clock = { now_ms: 0, wakes: 0 }
let read_at = Number.NEGATIVE_INFINITY

function read() {
  if (performance.now() - read_at < believed_ms) return clock
  clock = JSON.parse(readFileSync(file, 'utf8'))
  read_at = performance.now()
  return clock
}

globalThis.Date = class extends SystemDate {
  constructor(...args) {
    super(...(args.length === 0 ? [read().now_ms] : args))
  }
  static now() {
    return read().now_ms
  }
}

const resting = new Set()
let woken = read().wakes
function note() {
  writeFileSync(`${file}.jobs.new`, JSON.stringify({ wakes: woken, resting: resting.size }))
  renameSync(`${file}.jobs.new`, `${file}.jobs`)
}

setInterval(() => {
  const { wakes } = read()
  if (wakes === woken) return
  woken = wakes
  for (const end of [...resting]) end()
  note()
}, 5).unref()

function rest(value, signal) {
  const { promise, resolve, reject } = Promise.withResolvers()
  const leave = (settle) => {
    signal.removeEventListener('abort', stop)
    resting.delete(end)
    settle()
  }
  const end = () => leave(() => resolve(value))
  const stop = () => {
    leave(() => reject(new DOMException('The operation was aborted', { name: 'AbortError', cause: signal.reason })))
    note()
  }
  resting.add(end)
  signal.addEventListener('abort', stop)
  if (signal.aborted) stop()
  else note()
  return promise
}

const pause = timers.setTimeout
timers.setTimeout = (ms, value, options) =>
  ms >= job_pause_ms_min && options?.signal !== undefined ? rest(value, options.signal) : pause(ms, value, options)

const keys = existsSync(`${file}.keys`)
  ? new Map(Object.entries(JSON.parse(readFileSync(`${file}.keys`, 'utf8'))))
  : null
const createPublicKey = crypto.createPublicKey
crypto.createPublicKey = (given) => {
  const key = createPublicKey(given)
  if (keys === null || key.asymmetricKeyType !== 'ec') return key
  const own = keys.get(key.export({ format: 'der', type: 'spki' }).toString('base64'))
  return own === undefined ? key : createPublicKey({ key: Buffer.from(own, 'base64'), format: 'der', type: 'spki' })
}
syncBuiltinESMExports()
