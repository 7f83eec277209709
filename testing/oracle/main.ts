import { spawn } from 'node:child_process'
import { join } from 'node:path'

/** `npm run histories [-- N]`: holds all reports against the oracle on N random histories. */
const histories = Number(process.argv[2] ?? 1000)
if (!Number.isSafeInteger(histories) || histories < 1) {
  process.stderr.write('Usage: npm run histories -- [N]   (1000 by default)\n')
  process.exitCode = 2
} else {
  const tests = join(import.meta.dirname, '..', '..', 'tools', 'test.ts')
  const run = spawn(process.execPath, [tests, 'services/standalone/test/reports/report-oracle'], {
    stdio: 'inherit',
    env: { ...process.env, TRIBUTARY_TEST_HISTORIES: String(histories) },
  })
  run.on('close', (code) => {
    process.exitCode = code ?? 1
  })
}
