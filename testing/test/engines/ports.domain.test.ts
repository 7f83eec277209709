import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, it } from 'vitest'

const ports_ts = new URL('../../engines/ports.ts', import.meta.url).href

/** A process that asks for ports one after the other, and lives until its input ends. */
async function ask(count: number): Promise<{ ports: number[]; end(): Promise<unknown> }> {
  const program = `
    const { freePorts } = await import('${ports_ts}')
    const ports = []
    for (let n = 0; n < ${count}; n += 1) ports.push(...(await freePorts(1)))
    process.stdout.write(JSON.stringify(ports))
    process.stdin.resume()`
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
    stdio: ['pipe', 'pipe', 'inherit'],
    timeout: 60_000,
  })
  const [line] = await once(child.stdout, 'data')
  return {
    ports: JSON.parse(String(line)),
    end() {
      child.stdin.end()
      return once(child, 'exit')
    },
  }
}

it('gives no port out twice while the process that asked for it lives', {
  skip: process.platform !== 'linux',
}, async () => {
  const processes = await Promise.all([ask(300), ask(300)])
  const ports = processes.flatMap(({ ports }) => ports)
  expect(ports).toHaveLength(600)
  expect(new Set(ports).size).toBe(600)
  await Promise.all(processes.map(({ end }) => end()))
})
