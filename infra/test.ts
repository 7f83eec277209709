import { spawn } from 'node:child_process'

/** `npm test [-- vitest arguments]`: every ring, closed by one line `N passed, N failed`. */
const reporters = ['--reporter=default', '--reporter=./infra/closing-line.ts']
const vitest = spawn('vitest', ['run', ...reporters, ...process.argv.slice(2)], { stdio: 'inherit' })
vitest.on('error', (error) => {
  console.error(`vitest could not be started: ${error.message}`)
  process.exitCode = 1
})
vitest.on('close', (code) => {
  process.exitCode = code ?? 1
})
