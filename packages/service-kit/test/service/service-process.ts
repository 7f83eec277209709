/**
 * A service whose closes do what STOP says; with START=refused or START=broken its start fails half-way, with
 * START=stopped because of the stop. THREADS=busy keeps
 * libuv's threads at work. With STOP=at once it gives itself up, and could not exit.
 */
import { pbkdf2 } from 'node:crypto'
import { once } from 'node:events'
import { runService } from '@tributary/service-kit/service/run-service'
import { readSettings } from '@tributary/service-kit/settings/read-settings'
import { StartRefused } from '@tributary/service-kit/settings/start-refused'

const { START, STOP, THREADS } = process.env
const hang = () => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
const say = (line: string) => process.stdout.write(`${line}\n`)

await runService({
  name: 'test',
  stop_ms_max: STOP?.startsWith('hangs') ? 300 : 60_000,
  readConfig: () => readSettings(process.env, ['TRIBUTARY_LOG_LEVEL', 'TRIBUTARY_LOG_FORMAT']),
  async start(_config, { onClose, endNow }) {
    const open = setInterval(() => {}, 1000)
    onClose('first', async () => {
      clearInterval(open)
      say('first closed')
    })
    onClose('second', async () => {
      if (STOP === 'fails') throw new Error('close failed on purpose')
      if (STOP === 'waits') {
        say('second waits')
        await once(process, 'SIGINT')
      }
      // lmdb's exit hook waits for its writer, which waits for the disk.
      if (STOP === 'hangs for good') process.on('exit', hang)
      if (STOP?.startsWith('hangs')) await new Promise(() => setInterval(() => {}, 1000))
      say('second closed')
    })
    // Writes of files and logs wait behind this.
    if (THREADS === 'busy') for (let n = 0; n < 4; n += 1) pbkdf2('a', 'b', 200_000, 32, 'sha256', () => {})
    if (START === 'refused') throw new StartRefused('Set THAT.')
    if (START === 'broken') throw new Error('nobody foresaw this')
    if (START === 'stopped') {
      say('starting')
      await once(process, 'SIGTERM')
      throw new Error('closed in the meantime')
    }
    if (STOP === 'rejects') setTimeout(() => Promise.reject(new Error('left alone')), 0)
    if (STOP === 'at once') {
      process.on('exit', hang)
      endNow(new Error('the engine stands still'))
    }
    say('ready')
  },
})
