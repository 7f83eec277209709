import { randomBytes } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { limits } from '@tributary/contracts/limits'
import { declaredRoutes } from '@tributary/standalone/declared-routes'
import type { Attack } from '../attack.ts'
import { inParallel, sendSigned } from '../send.ts'

const clients = 56

/** JSON of the largest allowed size after gunzip, and about 70 KB before. */
function smallBomb(): Buffer<ArrayBuffer> {
  const block = randomBytes(500).toString('hex')
  const blocks = Math.floor((limits.sdk_inflated_bytes_max - 100) / (block.length + 10))
  const pad = Array.from({ length: blocks }, () => block + randomBytes(5).toString('hex')).join('')
  return gzipSync(`{"pad":"${pad}"}`)
}

/** The attacker makes the service inflate more than it can hold. */
export const inflatedBytes: Attack = {
  name: 'inflated-bytes',
  what: `${clients} clients send signed gzip bodies of 70 KB that inflate to 8 MiB`,
  expected: ['400 bad_batch_shape'],
  // The attacker's bodies wait for each other.
  allowed: ['503 unavailable'],
  growth_mib_max: 200,
  async run(target) {
    const body = smallBomb()
    await inParallel(target, clients, () => sendSigned(target, declaredRoutes.sendBatch.path, body, true))
  },
}
