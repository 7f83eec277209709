import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { describe, expect, onTestFinished, test } from 'vitest'

const program = join(import.meta.dirname, 'service-process.ts')

/** Runs the service to its end, and sends it a signal at each of these lines of its output. */
async function run(settings: Record<string, string>, signals: Record<string, NodeJS.Signals> = {}) {
  const env = { PATH: process.env.PATH, ...settings }
  const child = spawn(process.execPath, [program], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  const said: string[] = []
  createInterface(child.stdout).on('line', (line) => {
    said.push(line)
    if (signals[line] !== undefined) child.kill(signals[line])
  })
  const logged = text(child.stderr)
  const [code, signal] = await once(child, 'close')
  return { code: code ?? signal, said, logged: await logged }
}
const stop = { ready: 'SIGTERM' } as const

describe('a stop', () => {
  test.each(['SIGTERM', 'SIGINT'] as const)(
    'by %s closes what was opened last first, and ends with 0',
    async (ready) => {
      const { code, said } = await run({}, { ready })
      expect({ code, said }).toEqual({ code: 0, said: ['ready', 'second closed', 'first closed'] })
    },
  )

  test('during the start ends with 0, and what the start then lacks is no error', async () => {
    const { code, said, logged } = await run({ START: 'stopped' }, { starting: 'SIGTERM' })
    expect({ code, said }).toEqual({ code: 0, said: ['starting', 'second closed', 'first closed'] })
    expect(logged).toContain('closed in the meantime')
    expect(logged).not.toMatch(/"level":"(error|fatal)"/)
  })

  test('goes on when it is asked for again', async () => {
    const { code, said, logged } = await run({ STOP: 'waits' }, { ready: 'SIGTERM', 'second waits': 'SIGINT' })
    expect({ code, said }).toEqual({ code: 0, said: ['ready', 'second waits', 'second closed', 'first closed'] })
    expect(logged.match(/"msg":"stopping"/g)).toHaveLength(1)
  })

  test.each(['hangs', 'hangs for good'])('that %s is ended by the deadline, exit hooks and all', async (STOP) => {
    const { code, said, logged } = await run({ STOP }, stop)
    expect({ code, said }).toEqual({ code: 'SIGKILL', said: ['ready'] })
    expect(logged).toContain('did not stop in time')
  })

  test('at once says why though no thread is left to write it, and closes nothing', async () => {
    const { code, said, logged } = await run({ STOP: 'at once', THREADS: 'busy' })
    expect({ code, said }).toEqual({ code: 'SIGKILL', said: [] })
    expect(logged).toMatch(/"level":"fatal",.*"the engine stands still".*"msg":"ending at once"/)
  })

  test('goes on past a close that fails, and ends with 1', async () => {
    const { code, said, logged } = await run({ STOP: 'fails' }, stop)
    expect({ code, said }).toEqual({ code: 1, said: ['ready', 'first closed'] })
    expect(logged).toContain('"what":"second"')
  })

  test('follows a rejection that nobody handles, with 1', async () => {
    const { code, said, logged } = await run({ STOP: 'rejects' })
    expect({ code, said }).toEqual({ code: 1, said: ['ready', 'second closed', 'first closed'] })
    expect(logged).toContain('left alone')
  })
})

describe('a start that fails half-way closes what it opened and ends with 1', () => {
  test('a refusal says its message, last and without a stack', async () => {
    // A line of the log that is being written is waited for.
    const { code, said, logged } = await run({ START: 'refused', THREADS: 'busy' })
    expect({ code, said }).toEqual({ code: 1, said: ['second closed', 'first closed'] })
    expect(logged).toMatch(/\nSet THAT\.\n$/)
    expect(logged).not.toContain('StartRefused')
  })

  test('what nobody foresaw is logged whole', async () => {
    const { code, said, logged } = await run({ START: 'broken' })
    expect({ code, said }).toEqual({ code: 1, said: ['second closed', 'first closed'] })
    expect(logged).toMatch(/"msg":"start failed".*/)
    expect(logged).toContain('nobody foresaw this')
  })

  test('wrong settings are listed before anything is opened', async () => {
    const { code, said, logged } = await run({ TRIBUTARY_LOG_LEVEL: 'loud' })
    expect({ code, said }).toEqual({ code: 1, said: [] })
    expect(logged).toMatch(/^These settings are wrong:\n {2}TRIBUTARY_LOG_LEVEL: .*\n$/)
  })
})
