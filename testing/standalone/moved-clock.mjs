// Preloaded into a process (`node --import`): its clock is the system's, moved by as many ms as the file TEST_CLOCK_FILE says.
import { readFileSync } from 'node:fs'

const SystemDate = Date
let moved_ms = 0
const read = () => {
  moved_ms = Number(readFileSync(process.env.TEST_CLOCK_FILE, 'utf8'))
}
read()
setInterval(read, 10).unref()

globalThis.Date = class extends SystemDate {
  constructor(...args) {
    super(...(args.length === 0 ? [SystemDate.now() + moved_ms] : args))
  }
  static now() {
    return SystemDate.now() + moved_ms
  }
}
