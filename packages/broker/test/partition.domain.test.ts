import { expect, test } from 'vitest'
import { appPartition, installPartition, postbackPartition } from '../src/partition.ts'

// Worked out with Python's hashlib: int.from_bytes(sha256(text).digest()[:4], 'big') % partitions.
test.each([
  [1, 0, 0, 0],
  [12, 4, 3, 6],
  [64, 60, 59, 46],
])(
  'of %i partitions an install, a postback and an app have the same ones for ever',
  (count, install, postback, app) => {
    expect(installPartition('app_1', '6f1c1f6e-0000-4000-8000-000000000001', count)).toBe(install)
    expect(postbackPartition('ab'.repeat(32), count)).toBe(postback)
    expect(appPartition('app_1', count)).toBe(app)
  },
)
