import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { hour_ms } from '@tributary/contracts/limits'

/** Histories in one round: `report-oracle` takes so many, and `reports-after` a fifth, since it writes each several times. */
const round_histories = 5

/**
 * `npm run histories [-- N]`: holds all reports against the oracle on N random histories, which clocks that jump receive, and on a
 * fifth as many with erasures, second lives and retention.
 */
const histories = Number(process.argv[2] ?? 1000)
if (!Number.isSafeInteger(histories) || histories < 1) {
  process.stderr.write('Usage: npm run histories -- [N]   (1000 by default)\n')
  process.exitCode = 2
} else {
  const tests = join(import.meta.dirname, '..', '..', 'tools', 'test.ts')
  const histories_of = ['testing/stories/reports/report-oracle', 'testing/stories/erasure/reports-after']
  const run = spawn(process.execPath, [tests, ...histories_of], {
    stdio: 'inherit',
    env: {
      ...process.env,
      // Many histories take hours.
      FILE_MS_MAX: String(24 * hour_ms),
      TRIBUTARY_TEST_ROUNDS: String(histories / round_histories),
    },
  })
  run.on('close', (code) => {
    process.exitCode = code ?? 1
  })
}
