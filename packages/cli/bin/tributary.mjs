#!/usr/bin/env node
// Runs the `tributary` command on Node 24, whichever Node (20 or later) started it.
// Plain JavaScript that imports only Node itself, because an older Node can't read the rest.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import module from 'node:module'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../../..', import.meta.url))
const node24 = `${root}/node_modules/.bin/node`
const major = Number(process.versions.node.split('.')[0])
// The folder of tools/bootstrap.mjs: both find what the other compiled.
const compiled = process.env.NODE_COMPILE_CACHE ?? `${root}/node_modules/.cache/compiled`

if (!existsSync(`${root}/node_modules/commander`) || (major < 24 && !existsSync(node24))) {
  const message = 'Tributary is not installed yet: run npm start once in its folder, then try again.'
  const json = process.argv.includes('--json')
  process.stderr.write(json ? `${JSON.stringify({ error: 'not_installed', message })}\n` : `${message}\n`)
  process.exit(1)
} else if (major >= 24) {
  // The branch below started this process. When the launcher is killed, this process must end too.
  if (process.channel) {
    process.channel.unref()
    process.on('disconnect', () => process.exit(1))
  }
  module.enableCompileCache?.(compiled)
  await import('../src/main.ts')
} else {
  const args = [fileURLToPath(import.meta.url), ...process.argv.slice(2)]
  const child = spawn(node24, args, { stdio: ['inherit', 'inherit', 'inherit', 'ipc'] })
  // A terminal sends Ctrl-C to both; a supervisor sends its signal to this process only.
  process.on('SIGINT', () => {})
  for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  child.on('exit', (code, signal) => process.exit(signal ? 1 : code))
}
