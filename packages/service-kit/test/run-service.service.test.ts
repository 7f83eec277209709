import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'

const program = join(import.meta.dirname, 'service-process.ts')

/** Runs the service to its end; `onReady` is told when it works. */
async function run(
  settings: Record<string, string>,
  onReady: (kill: (signal: NodeJS.Signals) => void) => void = () => {},
) {
  const env = { PATH: process.env.PATH, ...settings }
  const child = spawn(process.execPath, [program], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  let said = ''
  let logged = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    if (!said.includes('ready') && `${said}${text}`.includes('ready')) onReady((signal) => child.kill(signal))
    said += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    logged += text
  })
  const [code] = await once(child, 'close')
  return { code, said: said.split('\n').filter((line) => line !== ''), logged }
}
const stop = (kill: (signal: NodeJS.Signals) => void) => kill('SIGTERM')

describe('a stop', () => {
  test.each(['SIGTERM', 'SIGINT'] as const)(
    'by %s closes what was opened last first, once, and ends with 0',
    async (signal) => {
      const { code, said, logged } = await run({}, (kill) => {
        kill(signal)
        kill(signal)
      })
      expect({ code, said }).toEqual({ code: 0, said: ['ready', 'second closed', 'first closed'] })
      expect(logged.match(/"msg":"stopping"/g)).toHaveLength(1)
    },
  )

  test('that hangs is ended by the deadline, with 1', async () => {
    const { code, said, logged } = await run({ STOP: 'hangs' }, stop)
    expect({ code, said }).toEqual({ code: 1, said: ['ready'] })
    expect(logged).toContain('did not stop in time')
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
  test('a refusal says its message and no stack', async () => {
    const { code, said, logged } = await run({ START: 'refused' })
    expect({ code, said }).toEqual({ code: 1, said: ['second closed', 'first closed'] })
    expect(logged).toMatch(/^Set THAT\.$/m)
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
