import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import type { FuzzResult } from '../../fuzz/run-fuzz.ts'

const root = join(import.meta.dirname, '..', '..', '..')

/** Runs the command as a person does, with --json. */
async function fuzz(...args: string[]): Promise<FuzzResult> {
  const options = { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] as ['ignore', 'pipe', 'pipe'] }
  const child = spawn('npm', ['run', '--silent', 'fuzz', '--', '--json', ...args], options)
  const texts = await Promise.all([child.stdout, child.stderr].map((stream) => stream.setEncoding('utf8').toArray()))
  const [stdout = '', stderr = ''] = texts.map((parts) => parts.join(''))
  try {
    return JSON.parse(stdout)
  } catch {
    throw new Error(`no JSON document:\n${stdout}\n${stderr}`)
  }
}

it('answers any input with a code, stays alive with flat memory, and counts exactly the accepted events', async () => {
  // A number bounds the run, since a process beside a fleet that starts is forty times slower. The time ends what
  // hangs.
  const result = await fuzz('--requests', '3000', '--seconds', '120')
  const printed = JSON.stringify(result, null, 2)
  expect(result.failures, printed).toEqual([])
  expect(result.mutated.reported, printed).toBe(result.mutated.distinct)
  expect(result.valid.reported, printed).toBe(result.valid.distinct)
  // The run reached every check: if the first check refused all requests, the run would prove nothing.
  expect(result.requests, printed).toBeGreaterThan(500)
  expect(result.mutated.distinct, printed).toBeGreaterThan(50)
  expect(result.valid.accepted, printed).toBeGreaterThan(10)
  expect(Object.keys(result.answers), printed).toEqual(
    expect.arrayContaining(['200', '400 bad_json', '400 bad_gzip', '401 bad_signature', '400 invalid_field', 'closed']),
  )
})
