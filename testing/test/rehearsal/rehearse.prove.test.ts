import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { describeWith } from '../../engines/describe-with-engine.ts'
import { installEngines } from '../../engines/open-engine.ts'

const root = join(import.meta.dirname, '..', '..', '..')
const order = ['--rate', '100', '--events', '200', '--json']

/** Checks only that the engines are available here. The command starts its own. */
const probe = async () => {
  await installEngines(['kafka', 's3', 'redis'])
  return { stop: async () => {} }
}

interface Compared {
  what: string
  expected: number | string
  found: number | string
}

await describeWith('fleet', probe, () => {
  it('a fleet that loses ClickHouse and then PostgreSQL has all that was sent, once, when it is brought back as docs/backup.md says', async () => {
    const { code, stdout, stderr } = await npmRun('rehearse', order)
    expect(code, stderr + stdout).toBe(0)
    const { steps, compared } = JSON.parse(stdout) as {
      steps: { step: string; answer?: object }[]
      compared: Compared[]
    }
    expect(compared.filter(({ expected, found }) => expected !== found)).toEqual([])
    const numbers = compared.filter(({ what }) => what === 'report events').map(({ found }) => String(found))
    expect(numbers).toEqual(numbers.map(() => expect.stringMatching(/app_install [1-9]/)))
    // What the log had forgotten came from the audit store.
    const [first] = steps.filter(({ step }) => step === 'tributary replay --from-audit')
    expect(first!.answer).toMatchObject({ filled: expect.toSatisfy((n: number) => n > 0), clicks_filled: 3 })
  })
})

function npmRun(script: string, args: readonly string[]) {
  const { promise, resolve } = Promise.withResolvers<{ code: unknown; stdout: string; stderr: string }>()
  execFile('npm', ['run', '--silent', script, '--', ...args], { cwd: root }, (error, stdout, stderr) =>
    resolve({ code: error === null ? 0 : error.code, stdout, stderr }),
  )
  return promise
}
