import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

/**
 * `npm test [-- vitest arguments]`: runs all tests and closes with one line `N passed, N failed`. The logs of started
 * programs are kept and searched for secrets (`tools/log-check`), which counts as one more test.
 */
const reporters = ['--reporter=default', '--reporter=./tools/closing-line.ts']
const logs = mkdtempSync(join(tmpdir(), 'tributary-logs-'))
const preload = pathToFileURL(join(import.meta.dirname, 'log-check', 'keep-stderr.mjs')).href
const NODE_OPTIONS = `${process.env.NODE_OPTIONS ?? ''} --import=${preload}`.trim()
const vitest = spawn('vitest', ['run', ...reporters, ...process.argv.slice(2)], {
  stdio: 'inherit',
  env: { ...process.env, NODE_OPTIONS, KEEP_STDERR_IN: logs },
})
vitest.on('error', (error) => {
  console.error(`vitest could not be started: ${error.message}`)
  process.exitCode = 1
})
vitest.on('close', (code) => {
  rmSync(logs, { recursive: true, force: true })
  process.exitCode = code ?? 1
})
