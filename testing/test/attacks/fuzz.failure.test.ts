import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import type { FuzzResult } from '../../fuzz/run-fuzz.ts'

const root = join(import.meta.dirname, '..', '..', '..')

/** The command as a person types it, with --json. */
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

it('answers whatever comes with a code, stays alive and flat, and counts exactly what it accepted', async () => {
  const result = await fuzz('--seconds', '25', '--requests', '60000')
  const said = JSON.stringify(result, null, 2)
  expect(result.failures, said).toEqual([])
  expect(result.mutated.reported, said).toBe(result.mutated.distinct)
  expect(result.valid.reported, said).toBe(result.valid.distinct)
  // It came through every gate: a run whose requests were all refused at the first would prove nothing.
  expect(result.requests, said).toBeGreaterThan(500)
  expect(result.mutated.distinct, said).toBeGreaterThan(50)
  expect(result.valid.accepted, said).toBeGreaterThan(10)
  expect(Object.keys(result.answers), said).toEqual(
    expect.arrayContaining(['200', '400 bad_json', '400 bad_gzip', '401 bad_signature', '400 invalid_field', 'closed']),
  )
})
