import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { describeWith } from '../../engines/describe-with-engine.ts'
import { installEngines } from '../../engines/open-engine.ts'

const root = join(import.meta.dirname, '..', '..', '..')
const order = ['--minutes', '0.25', '--kills', '8', '--events', '6000', '--accidents', '--json']

/** Checks only that the engines are available here. The command starts its own. */
const probe = async () => {
  await installEngines(['kafka', 's3', 'redis'])
  return { stop: async () => {} }
}

await describeWith('fleet', probe, () => {
  it('loses and doubles no event, and brings no erased one back, in a short npm run soak with kill -9 of all services', async () => {
    const { code, stdout, stderr } = await npmRun('soak', order)
    expect(code, stderr + stdout).toBe(0)
    const { in_log, acknowledged, rollups, differing, postbacks, erased_installs, ...found } = JSON.parse(stdout)
    expect(found).toMatchObject({ in_events_raw: in_log, lost: 0, doubled: 0, returned: 0, kills: 8 })
    expect(found).toMatchObject({ postbacks_lost: 0, postbacks_unknown: 0 })
    expect(postbacks).toBeGreaterThan(30)
    expect(acknowledged).toBeGreaterThanOrEqual(6000)
    expect(in_log).toBeLessThan(acknowledged)
    // An eighth of the installs may be erased, one request each 250 ms: a machine that stalls asks for few.
    expect(erased_installs).toBeGreaterThan(0)
    expect(rollups).toMatchObject({ event_keys_v1: in_log })
    expect(Object.values(differing).every((groups) => groups === 0)).toBe(true)
  })
})

function npmRun(script: string, args: readonly string[]) {
  const { promise, resolve } = Promise.withResolvers<{ code: unknown; stdout: string; stderr: string }>()
  execFile('npm', ['run', '--silent', script, '--', ...args], { cwd: root }, (error, stdout, stderr) =>
    resolve({ code: error === null ? 0 : error.code, stdout, stderr }),
  )
  return promise
}
