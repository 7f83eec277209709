import { spawn } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type StandaloneProcess, startStandaloneProcess } from '@tributary/testing/standalone/standalone-process'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'

const root = join(import.meta.dirname, '..', '..')
const readme = readFileSync(join(root, 'README.md'), 'utf8')
const blocks = [...readme.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, code]) => code ?? '')

const data_dir = mkdtempSync(join(tmpdir(), 'tributary-readme-'))
let standalone: StandaloneProcess

beforeAll(async () => {
  standalone = await startStandaloneProcess({ data_dir })
})
afterAll(async () => {
  await standalone.stop('SIGTERM')
  rmSync(data_dir, { recursive: true, force: true })
})

/** Runs shell lines as a reader pastes them, with another data folder. */
async function paste(code: string): Promise<string> {
  const script = code.replaceAll('.tributary/', `${data_dir}/`)
  const env = { ...process.env, TRIBUTARY_DATA_DIR: data_dir }
  const shell = spawn('bash', ['-euo', 'pipefail', '-c', script], { cwd: root, env })
  let output = ''
  for (const stream of [shell.stdout, shell.stderr]) {
    stream.setEncoding('utf8').on('data', (text) => {
      output += text
    })
  }
  const code_ = await new Promise((resolve) => shell.on('close', resolve))
  if (code_ !== 0) throw new Error(`exit ${code_}: ${output}`)
  return output
}

it('shows commands that exist', () => {
  const scripts = Object.keys(JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).scripts)
  const named = [...readme.matchAll(/npm (?:run )?(start|test|check|bench|dev)\b/g)].map(([, name]) => name)
  expect(named).toEqual(expect.arrayContaining(['start', 'test']))
  expect(scripts).toEqual(expect.arrayContaining(named))
})

it('takes a first event and reports it when its lines are pasted in order', async () => {
  const [, ...lines] = blocks
  const output = await paste(lines.join('\n'))
  expect(output).toContain('"accepted":2')
  expect(output).toContain('"event_id":"renewal-1"')
  const today = new Date().toISOString().slice(0, 10)
  const report = JSON.parse(output.slice(output.indexOf('{"rows"')))
  expect(report.rows).toEqual([
    { day: today, event_name: 'app_install', events: 1, unique_installs: 1, revenue_usd: 0 },
    { day: today, event_name: 'purchase', events: 1, unique_installs: 1, revenue_usd: 4.99 },
    { day: today, event_name: 'subscription_renewed', events: 1, unique_installs: 1, revenue_usd: 9.99 },
  ])
})

it('prints lines at the first start that work when pasted', async () => {
  const printed = standalone.output().split('\n')
  const lines = printed.filter((line) => /^ {2}(BODY=|SIGNATURE=|curl )/.test(line)).join('\n')
  const output = await paste(lines)
  expect(output).toContain('"accepted":1')
  expect(output).toContain('"rows":')
})

it('without an install, npx tributary explains what to do and contacts no registry', async () => {
  const clone = mkdtempSync(join(tmpdir(), 'tributary-no-modules-'))
  onTestFinished(() => rmSync(clone, { recursive: true }))
  for (const path of ['package.json', 'packages/cli/package.json', 'packages/cli/bin']) {
    cpSync(join(root, path), join(clone, path), { recursive: true })
  }
  const nothing = { npm_config_registry: 'http://127.0.0.1:1', npm_config_cache: join(clone, 'cache') }
  const child = spawn('npx', ['tributary', 'status'], { cwd: clone, env: { ...process.env, ...nothing } })
  let errors = ''
  child.stderr.setEncoding('utf8').on('data', (text) => {
    errors += text
  })
  expect(await new Promise((resolve) => child.on('close', resolve))).toBe(1)
  expect(errors).toContain('Tributary is not installed yet: run npm start once')
})
