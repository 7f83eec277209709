import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { onTestFinished } from 'vitest'

const main = join(import.meta.dirname, '..', 'src', 'main.ts')

export interface Run {
  child: ChildProcess
  ended: Promise<{ code: number | null; stdout: string; stderr: string }>
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

/** Runs the command to its end. */
export const tributary = (args: readonly string[], env: Record<string, string> = {}, input = '') =>
  startTributary(args, env, input).ended

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
