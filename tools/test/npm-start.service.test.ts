import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'

const { scripts } = JSON.parse(readFileSync(join(import.meta.dirname, '..', '..', 'package.json'), 'utf8'))

/** Exits after 30 s if the test does not stop it. */
const program = `
process.on('SIGTERM', () => process.stdout.write('stopped', () => process.exit(0)))
setTimeout(() => process.exit(3), 30_000)
console.log('ready')
`

it.each(['start', 'service'])('a signal to npm %s also stops the service', async (name) => {
  const folder = mkdtempSync(join(tmpdir(), 'tributary-npm-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const script = (scripts[name] as string).replace('tools/bootstrap.mjs', 'program.mjs')
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: 'signals', scripts: { [name]: script } }))
  writeFileSync(join(folder, 'program.mjs'), program)
  const npm = spawn('npm', ['run', name], { cwd: folder, stdio: ['ignore', 'pipe', 'ignore'] })
  let output = ''
  npm.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text
    if (text.includes('ready')) npm.kill('SIGTERM')
  })
  await once(npm, 'close')
  expect(output).toContain('stopped')
})
