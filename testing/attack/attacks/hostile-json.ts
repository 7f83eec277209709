import { gzipSync } from 'node:zlib'
import { limits } from '@tributary/contracts/limits'
import type { Attack } from '../attack.ts'
import { type Got, rest, sendSigned } from '../send.ts'

const requests_per_s = 4

/** Repeats `item` up to `bytes`. */
const filled = (item: string, bytes: number) =>
  Array(Math.floor(bytes / (item.length + 1)))
    .fill(item)
    .join()
const inflated = limits.sdk_inflated_bytes_max - 1000
const event = '"event_name":"level_up","install_uuid":"attack","event_id":"attack"'

/** Bodies that are slow to parse for their size. */
const shapes = (): string[] => [
  `{"events":[${filled('[]', inflated)}]}`,
  `{"events":[${filled('{}', inflated)}]}`,
  `{"events":[{${event},"props":{"a":[${filled('[]', inflated)}]}}]}`,
  `{"events":[{${event},"props":{${Array.from({ length: 150_000 }, (_, n) => `"k${n}":${n}`).join()}}}]}`,
  `{"events":[{${event},"a":${'['.repeat(1e6)}${']'.repeat(1e6)}}]}`,
]

/** The attacker keeps the parser busy with few small requests. */
export const hostileJson: Attack = {
  name: 'hostile-json',
  what: `${requests_per_s} signed gzip bodies a second inflate to 8 MiB of small arrays, too many events, unique keys and deep arrays`,
  expected: ['400 bad_batch_shape'],
  // The attacker's bodies wait for each other.
  allowed: ['200', '503 unavailable', 'no answer'],
  async run(target) {
    const bodies = shapes().map((shape) => gzipSync(shape))
    const sent: Promise<Got>[] = []
    for (let n = 0; n < bodies.length || !target.signal.aborted; n += 1) {
      sent.push(sendSigned(target, '/event', bodies[n % bodies.length]!, true))
      await rest(target, 1000 / requests_per_s)
    }
    await Promise.all(sent)
  },
}
