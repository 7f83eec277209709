import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'

/** Notes before each test file which process runs it, for `WorkerLimit`. */
const { WORKERS_IN } = process.env
if (WORKERS_IN !== undefined) writeFileSync(join(WORKERS_IN, String(process.pid)), expect.getState().testPath ?? '')
