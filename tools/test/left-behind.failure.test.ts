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

/** Runs `npm test` in a folder with these files beside one that passes. */
async function runTests(name: string, files: Record<string, string>, env: Record<string, string>) {
  const folder = mkdtempSync(join(tmpdir(), `tributary-${name}-`))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  for (const [file, content] of Object.entries(files)) writeFileSync(join(folder, file), content)
  writeFileSync(
    join(folder, 'vitest.config.mjs'),
    `export default { test: { pool: 'forks', include: ['*.test.mjs'], setupFiles: [${JSON.stringify(join(root, 'tools/runner/note-worker.ts'))}] } }`,
  )
  const child = spawn(process.execPath, [join(root, 'tools/bootstrap.mjs'), 'tools/test.ts'], {
    cwd: folder,
    env: { ...process.env, CLOSE_MS_MAX: '1', LEFT_MS_MAX: '1', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const ended = new Promise((resolve) => child.on('close', resolve))
  const [stdout, stderr, code] = await Promise.all([text(child.stdout), text(child.stderr), ended])
  return { stdout, stderr, code }
}

it('npm test ends, and fails, when a test left a process behind that holds the output', async () => {
  const { stdout, stderr, code } = await runTests('left', { 'leaves.test.mjs': leaves }, {})
  expect(stdout).toMatch(/^1 passed, 0 failed$/m)
  expect(stderr).toMatch(new RegExp(`left processes behind:\\n(.*\\n)*sleep 600.${process.pid}$`, 'm'))
  expect(code).toBe(1)
})

it.each([
  ['a test', "it('never ends', () => { for (;;) {} })"],
  ['its head', 'for (;;) {}'],
])('npm test ends a file that loops without a pause in %s, names it, fails, and runs the others', async (_, loop) => {
  const files = {
    'loops.test.mjs': `import { it } from 'vitest'\n${loop}`,
    'passes.test.mjs': `import { it } from 'vitest'\nit('passes', () => {})`,
  }
  const { stdout, stderr, code } = await runTests('loops', files, { FILE_MS_MAX: '3000' })
  expect(stderr).toContain('loops.test.mjs took longer than 3 s: its worker was ended')
  expect(stdout).toMatch(/^1 passed, [12] failed$/m)
  expect(code).toBe(1)
})
