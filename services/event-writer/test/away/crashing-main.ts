import { runService } from '@tributary/service-kit/service/run-service'
import { service } from '../../src/service.ts'

/**
 * The event-writer that sends itself a signal after a step of one of its batches: `TEST_SIGNAL` (`SIGKILL` when absent),
 * `TEST_STEP` (1 to 5) and `TEST_BATCH` (1 is the first).
 */
const signal = process.env.TEST_SIGNAL ?? 'SIGKILL'
const at_step = Number(process.env.TEST_STEP)
const in_batch = Number(process.env.TEST_BATCH)
let seen = 0

await runService({
  ...service,
  start: (config, around) =>
    service.start(config, around, {
      crash(step) {
        if (step !== at_step) return
        seen += 1
        if (seen === in_batch) process.kill(process.pid, signal)
      },
    }),
})
