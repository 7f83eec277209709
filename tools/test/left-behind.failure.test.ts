import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect, it, onTestFinished } from 'vitest'

const root = join(import.meta.dirname, '..', '..')
/** Writes to the standard output of its worker, as forked processes of tests do. */
const leaves = `
  import { spawn } from 'node:child_process'
  import { it } from 'vitest'
  it('passes', () => void spawn('sleep', ['600.${process.pid}'], { stdio: 'inherit', detached: true }).unref())`

it('npm test ends, and fails, when a test left a process behind that holds the output', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tributary-left-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  writeFileSync(join(folder, 'leaves.test.mjs'), leaves)
  writeFileSync(
    join(folder, 'vitest.config.mjs'),
    `export default { test: { pool: 'forks', include: ['*.test.mjs'] } }`,
  )
  const child = spawn(process.execPath, [join(root, 'tools/bootstrap.mjs'), 'tools/test.ts'], {
    cwd: folder,
    env: { ...process.env, CLOSE_MS_MAX: '1', LEFT_MS_MAX: '1' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const ended = new Promise((resolve) => child.on('close', resolve))
  const [stdout, stderr, code] = await Promise.all([text(child.stdout), text(child.stderr), ended])
  expect(stdout).toMatch(/^1 passed, 0 failed$/m)
  expect(stderr).toMatch(new RegExp(`left processes behind:\\n(.*\\n)*sleep 600.${process.pid}$`, 'm'))
  expect(code).toBe(1)
})
