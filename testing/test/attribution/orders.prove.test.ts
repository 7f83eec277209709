import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { describeWith } from '../../engines/describe-with-engine.ts'
import { installEngines } from '../../engines/open-engine.ts'

const root = join(import.meta.dirname, '..', '..', '..')
const order = ['--attribution', '--minutes', '0.15', '--kills', '4', '--acts', '12', '--json']

/** Checks only that the engines are available here. The command starts its own. */
const probe = async () => {
  await installEngines(['kafka', 's3', 'redis'])
  return { stop: async () => {} }
}

await describeWith('fleet', probe, () => {
  it('comes to the same verdicts in three orders of arrival with kill -9 of each consumer of attribution', async () => {
    const { promise, resolve } = Promise.withResolvers<{ code: unknown; stdout: string; stderr: string }>()
    execFile('npm', ['run', '--silent', 'soak', '--', ...order], { cwd: root }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : error.code, stdout, stderr }),
    )
    const { code, stdout, stderr } = await promise
    expect(code, stderr + stdout.slice(0, 4000)).toBe(0)
    const { verdicts, installs, kills, ...faults } = JSON.parse(stdout)
    expect(faults).toMatchObject({ differing: [], untrue: [], unbalanced: 0, wrong_reports: [] })
    expect({ verdicts, kills }).toEqual({ verdicts: 3 * installs, kills: 4 })
  })
})
