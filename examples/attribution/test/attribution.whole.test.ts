import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { type StandaloneProcess, startStandaloneProcess } from '@tributary/testing/standalone/standalone-process'
import { afterAll, beforeAll, expect, it } from 'vitest'

const root = join(import.meta.dirname, '..', '..', '..')
const readme = readFileSync(join(import.meta.dirname, '..', 'README.md'), 'utf8')
const lines = [...readme.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, code]) => code).join('\n')

const data_dir = mkdtempSync(join(tmpdir(), 'tributary-example-'))
let standalone: StandaloneProcess

beforeAll(async () => {
  standalone = await startStandaloneProcess({ data_dir })
})
afterAll(async () => {
  await standalone.stop('SIGTERM')
  rmSync(data_dir, { recursive: true, force: true })
})

/** Runs the lines of the README as a reader pastes them, with another data folder. */
async function paste(): Promise<string> {
  const env = { ...process.env, TRIBUTARY_DATA_DIR: data_dir }
  const shell = spawn('bash', ['-euo', 'pipefail', '-c', lines], { cwd: root, env })
  const [said, wrong, [code]] = await Promise.all([text(shell.stdout), text(shell.stderr), once(shell, 'close')])
  if (code !== 0) throw new Error(`exit ${code}: ${said}${wrong}`)
  return said
}

const ask = async (path: string) => {
  const { SERVER_KEY } = standalone.demo()
  const answer = await fetch(standalone.url + path, { headers: { authorization: `Bearer ${SERVER_KEY}` } })
  return (await answer.json()) as Record<string, unknown>
}
const install = (n: number) => `/api/v1/installs/8a1f0000-0000-4000-8000-00000000000${n}`

it('leads from a link to the report and the reasons when its lines are pasted in order', async () => {
  const said = await paste()
  expect(said).toContain('https://play.google.com/store/apps/details?id=com.example.demo&referrer=')
  expect(said).toContain('https://play.google.com/store/apps/details?id=com.example.demo\n')

  const { rows } = await ask('/api/v1/reports/attribution')
  const day = new Date().toISOString().slice(0, 10)
  expect(rows).toEqual([
    {
      ...{ day, partner: 'example_ads', attribution_type: 'install_referrer', installs: 1, organic: 0, reinstalls: 0 },
      fraud_flagged: expect.any(Number),
    },
    { day, partner: 'organic', attribution_type: 'organic', installs: 2, organic: 2, reinstalls: 0, fraud_flagged: 1 },
  ])
  expect(await ask(install(1))).toMatchObject({
    verdict: { partner: 'example_ads', campaign: 'autumn', ext_click_id: 'their-click-1', sub1: 'banner' },
    candidates: [{ partner: 'example_ads', method: 'install_referrer', outcome: 'won', reason: null }],
  })
  expect(await ask(install(2))).toMatchObject({
    verdict: { partner: 'organic', fraud_flags: [] },
    candidates: [{ method: 'probabilistic', outcome: 'lost', reason: 'click_already_used' }],
  })
  expect(await ask(install(3))).toMatchObject({ verdict: { partner: 'organic', fraud_flags: ['forged_click'] } })
})
