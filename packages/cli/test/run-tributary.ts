import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { onTestFinished } from 'vitest'
import { runProgram } from '../src/program.ts'

const main = join(import.meta.dirname, '..', 'src', 'main.ts')

export interface Ended {
  code: number | null
  stdout: string
  stderr: string
}

export interface Run {
  child: ChildProcess
  ended: Promise<Ended>
}

/** Starts the command as a process, with only PATH from our environment. */
export function startTributary(args: readonly string[], env: Record<string, string> = {}, input = ''): Run {
  const child = spawn(process.execPath, [main, ...args], {
    env: { PATH: process.env.PATH, ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  child.stdin.on('error', () => {}).end(input) // a command that reads nothing may have ended
  const ended = Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]).then(
    ([stdout, stderr, [code]]) => ({ code, stdout, stderr }),
  )
  return { child, ended }
}

const signals = ['SIGINT', 'SIGTERM'] as const
/** Settled when the runs before are over: each has the settings and streams of the process for itself. */
let over: Promise<unknown> = Promise.resolve()

/** Runs the command to its end, in this process: a process of its own would only load the same code again. */
export function tributary(args: readonly string[], env: Record<string, string> = {}, input = ''): Promise<Ended> {
  const run = over.then(() => runHere(args, env, input))
  over = run.catch(() => {})
  return run
}

async function runHere(args: readonly string[], env: Record<string, string>, input: string): Promise<Ended> {
  const [stdout, stderr] = [capture(process.stdout), capture(process.stderr)]
  const { env: ours, exitCode } = process
  const stdin = Object.getOwnPropertyDescriptor(process, 'stdin')!
  const listeners = signals.map((signal) => process.listeners(signal))
  process.env = { PATH: ours.PATH, ...env }
  process.exitCode = undefined
  Object.defineProperty(process, 'stdin', { value: Readable.from([Buffer.from(input)]), configurable: true })
  try {
    const code = await runProgram(args)
    return { code, stdout: stdout.text(), stderr: stderr.text() }
  } finally {
    for (const stream of [stdout, stderr]) stream.end()
    process.env = ours
    process.exitCode = exitCode
    Object.defineProperty(process, 'stdin', stdin)
    for (const [at, signal] of signals.entries())
      for (const one of process.listeners(signal).filter((one) => !listeners[at]!.includes(one)))
        process.off(signal, one)
  }
}

/** Keeps what is written to the stream from now on, until the end. */
function capture(stream: NodeJS.WriteStream) {
  const written: Buffer[] = []
  const { write } = stream
  stream.write = (chunk: string | Uint8Array) => written.push(Buffer.from(chunk)) > 0
  return {
    text: () => Buffer.concat(written).toString(),
    end: () => void Object.assign(stream, { write }),
  }
}

/** A file with this content in a new folder, deleted after the test. */
export async function fileWith(name: string, content: string | Buffer): Promise<string> {
  const path = join(await emptyFolder(), name)
  await writeFile(path, content)
  return path
}

/** An empty folder, deleted after the test. */
export async function emptyFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'tributary-cli-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return folder
}
