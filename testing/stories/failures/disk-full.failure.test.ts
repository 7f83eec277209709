import { mountSmallDisk, type SmallDisk } from '@tributary/testing/engines/small-disk'
import { runFullDisk } from '@tributary/testing/standalone/full-disk-run'
import { isExact } from '@tributary/testing/verify-events'
import { afterAll, expect, it } from 'vitest'

const disk_bytes = 600 * 1024 * 1024
const disk: SmallDisk | null = await mountSmallDisk(disk_bytes, 'tmpfs')
const required = process.env.TRIBUTARY_REQUIRE_ENGINES === '1'
if (disk === null)
  process.stderr.write('No disk that a test may fill here, its test is skipped: it needs Linux and root\n')
afterAll(() => disk?.close())

it.skipIf(disk === null && !required)(
  'takes events again by itself after a full disk, and holds every acknowledged event exactly once',
  async () => {
    const result = await runFullDisk({
      disk: disk!,
      rounds: 2,
      clients: 6,
      batches: 60,
      signal: 'SIGTERM',
      random: Math.random,
    })
    expect(result, JSON.stringify(result)).toSatisfy(isExact)
    expect(result.acknowledged).toBeGreaterThan(100)
  },
)
