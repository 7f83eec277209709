import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describeWith } from '@tributary/testing/engines/describe-with-engine'
import { needed } from '@tributary/testing/engines/install'
import { startStandaloneProcess, waitUntilWritten } from '@tributary/testing/standalone/standalone-process'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { docs } from './document.ts'

const run = promisify(execFile)
const data_dir = mkdtempSync(join(tmpdir(), 'tributary-signing-'))
let standalone: Awaited<ReturnType<typeof startStandaloneProcess>>
let env: NodeJS.ProcessEnv

beforeAll(async () => {
  standalone = await startStandaloneProcess({ data_dir })
  env = { ...process.env, ...standalone.demo(), TRIBUTARY_URL: standalone.url }
})
afterAll(async () => {
  await standalone.stop('SIGTERM')
  rmSync(data_dir, { recursive: true, force: true })
})

async function events(): Promise<number> {
  await waitUntilWritten(standalone.url, data_dir)
  const headers = { authorization: `Bearer ${env.SERVER_KEY}` }
  const answer = await fetch(`${standalone.url}/api/v1/reports/events`, { headers })
  const { rows } = (await answer.json()) as { rows: { events: number }[] }
  return rows.reduce((sum, row) => sum + row.events, 0)
}

interface Program {
  label: string
  needs: string[]
  /** What makes it ready to run. */
  build?: string[]
  command: string[]
}

/** The programs that are run; those in Kotlin, Swift and C# are only read (openapi.domain.test.ts). */
const programs: Program[] = [
  { label: 'curl', needs: ['curl', 'openssl', 'gzip'], command: ['sh', 'event.sh'] },
  { label: 'TypeScript', needs: ['node'], command: ['node', 'event.ts'] },
  { label: 'Python', needs: ['python3'], command: ['python3', 'event.py'] },
  // Built apart: the first time Go compiles its own HTTP library with it.
  {
    ...{ label: 'Go', needs: ['go'] },
    build: ['go', 'build', '-o', join(data_dir, 'event-go'), 'event.go'],
    command: [join(data_dir, 'event-go')],
  },
]

const cwd = join(docs, 'examples', 'signing')
const execute = ([command = '', ...args]: string[], variables = process.env) =>
  run(command, args, { cwd, env: variables })

for (const { label, needs, build, command } of programs) {
  const open = async () => {
    for (const one of needs) await needed(one, `the example in ${label} needs ${one}`)
    if (build !== undefined) await execute(build)
    return { stop: async () => {} }
  }
  await describeWith(label, open, () => {
    it('sends a signed batch that is accepted and counted, and fails with a wrong secret', async () => {
      const before = await events()
      const { stdout } = await execute(command, env)
      expect(JSON.parse(stdout)).toMatchObject({ accepted: 1, rejected: 0, results: [{ status: 'accepted' }] })
      expect(await events()).toBe(before + 1)
      await expect(execute(command, { ...env, SIGNING_SECRET: 'wrong' })).rejects.toThrow()
    })
  })
}
