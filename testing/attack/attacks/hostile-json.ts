import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { limits } from '@tributary/contracts/limits'
import { declaredRoutes } from '@tributary/standalone/declared-routes'
import type { Attack } from '../attack.ts'
import { inParallel, rest, sendSigned } from '../send.ts'
import { makeSigners } from '../tenants.ts'

const companies = 20
const apps_each = 2
/** Between two bodies of an app. */
const pause_ms = 500

/** Repeats `item` up to `bytes`. */
const filled = (item: string, bytes: number) =>
  Array(Math.floor(bytes / (item.length + 1)))
    .fill(item)
    .join()
const inflated = limits.sdk_inflated_bytes_max - 1000
const event = '"event_name":"level_up","install_uuid":"attack","event_id":"attack"'
const events_max = limits.sdk_batch_events_max
const largeEvent = `{${event},"props":{"a":[${filled('[]', inflated / events_max - 100)}]}}`

/** Bodies that are slow to parse for their size. */
const shapes = (): string[] => [
  `{"events":[${filled('[]', inflated)}]}`,
  `{"events":[${filled('{}', inflated)}]}`,
  `{"events":[{${event},"props":{"a":[${filled('[]', inflated)}]}}]}`,
  `{"events":[${Array(events_max).fill(largeEvent).join()}]}`,
  `{"events":[{${event},"props":{${Array.from({ length: 150_000 }, (_, n) => `"k${n}":${n}`).join()}}}]}`,
  `{"events":[{${event},"a":${'['.repeat(1e6)}${']'.repeat(1e6)}}]}`,
]
/** Few enough bytes to be before the others. */
const quickly_refused = gzipSync(`{"events":[${filled('[]', limits.inline_inflated_bytes_max + 1000)}]}`)
/** A last member of one byte, so that the end of the body tells a small size. */
const small_end = gzipSync(' ')

/** The attacker keeps the parser busy with few small requests, each app from an address of its own. */
export const hostileJson: Attack = {
  name: 'hostile-json',
  what: `the secrets of ${companies * apps_each} apps of ${companies} companies sign gzip bodies that inflate to 8 MiB of small arrays, too many events, unique keys and deep arrays`,
  expected: ['400 bad_batch_shape'],
  // The attacker's bodies wait for each other.
  allowed: ['200', '503 unavailable', 'no answer'],
  large_batches: true,
  async run(target) {
    const admin_token = readFileSync(join(target.data_dir, 'admin-token'), 'utf8').trim()
    const signers = await makeSigners(target.url, admin_token, companies, apps_each)
    const honest = shapes().map((shape) => gzipSync(shape))
    const bodies = [...honest, ...honest.map((body) => Buffer.concat([body, small_end]))]
    let sent = 0
    const refused = inParallel(target, 1, async () => {
      await sendSigned(target, declaredRoutes.sendBatch.path, quickly_refused, true)
      await rest(target, pause_ms)
    })
    await inParallel(target, signers.length, async (n) => {
      const body = bodies[sent++ % bodies.length]!
      const sender = { signer: signers[n]!, ip: `203.0.113.${n + 1}` }
      await sendSigned(target, declaredRoutes.sendBatch.path, body, true, sender)
      await rest(target, pause_ms)
    })
    await refused
  },
}
