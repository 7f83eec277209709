import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { expect } from 'vitest'
import { attacks, partOf } from '../../attack/attacks/attacks.ts'
import type { AttackResult } from '../../attack/run-attacks.ts'

const root = join(import.meta.dirname, '..', '..', '..')

/** Runs the command as a person does. Each attack lasts until the attacker is refused. */
export async function expectNoHarm(part: string): Promise<void> {
  const command = ['run', '--silent', 'attack', '--', '--json', '--seconds', '1', '--part', part]
  const child = spawn('npm', command, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] })
  const texts = await Promise.all([child.stdout, child.stderr].map((stream) => stream.setEncoding('utf8').toArray()))
  const [stdout = '', stderr = ''] = texts.map((parts) => parts.join(''))
  const results: AttackResult[] = stdout === '' ? [] : JSON.parse(stdout)
  expect(
    results.map(({ name, faults }) => ({ name, faults })),
    stderr,
  ).toEqual(partOf(attacks, part).map(({ name }) => ({ name, faults: [] })))
}
