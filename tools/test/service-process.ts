import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { onTestFinished } from 'vitest'

const root = join(import.meta.dirname, '../..')
const ready_ms_max = 180_000

export interface Ended {
  code: number | null
  stdout: string
  stderr: string
}

/** The messages for a person: standard error without log lines. */
export const messagesOf = ({ stderr }: Ended): string =>
  stderr
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('{'))
    .join('\n')

/** Messages, then warnings and errors of the log, the last ones first: the closing lines of a run show the first four. */
const failureOf = (ended: Ended): string => {
  const logged = ended.stderr.split('\n').filter((line) => /^\{"level":"(warn|error|fatal)"/.test(line))
  return [`code ${ended.code}`, messagesOf(ended), ...logged.reverse()].join('\n')
}

/** Starts a program of the checkout with only PATH and these settings. Killed after the test. */
export function startProgram(program: string, args: readonly string[], settings: Record<string, string>) {
  const child = spawn(process.execPath, [join(root, program), ...args], {
    env: { PATH: process.env.PATH, ...settings },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const ended = Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]).then(
    ([stdout, stderr, [code]]): Ended => ({ code, stdout, stderr }),
  )
  return { child, ended }
}

/** Runs a service that is expected to end by itself. */
export const runService = (name: string, settings: Record<string, string>): Promise<Ended> =>
  startProgram(`services/${name}/src/main.ts`, [], settings).ended

/** Runs a command of the CLI. */
export const tributary = (words: string, settings: Record<string, string>): Promise<Ended> =>
  startProgram('packages/cli/src/main.ts', words.split(' '), settings).ended

/** Starts a service on a port and resolves once `/ready` answers 200. */
export async function startReady(name: string, port: number, settings: Record<string, string>) {
  const started = startProgram(`services/${name}/src/main.ts`, [], { ...settings, TRIBUTARY_PORT: String(port) })
  const url = `http://127.0.0.1:${port}`
  for (const deadline = Date.now() + ready_ms_max; ; await new Promise((resolve) => setTimeout(resolve, 50))) {
    const status = await fetch(`${url}/ready`).then(
      (answer) => answer.status,
      () => 0,
    )
    if (status === 200) return { ...started, url }
    if (started.child.exitCode === null && Date.now() < deadline) continue
    started.child.kill('SIGKILL')
    throw new Error(`${name} did not become ready: ${failureOf(await started.ended)}`)
  }
}
