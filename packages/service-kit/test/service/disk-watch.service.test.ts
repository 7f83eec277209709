import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type DiskSpace, disk_floor_bytes, diskLevel, openDiskWatch } from '@tributary/service-kit/service/disk-watch'
import { describe, expect, test } from 'vitest'
import { serviceUnderTest } from './service-under-test.ts'

const gib = 1024 ** 3
const mib = 1024 ** 2
const free_bytes_min = 2 * gib

/** A watch of one folder on a disk of 100 GiB, whose free space the test sets. */
async function openWatch(free_bytes = 50 * gib) {
  const { service, logged } = serviceUnderTest()
  const space: DiskSpace = { free_bytes, size_bytes: 100 * gib }
  const { logger, registry } = service
  const readSpace = async () => ({ ...space })
  const disk = await openDiskWatch({ folders: { data: '/data' }, free_bytes_min, logger, registry, readSpace })
  return {
    disk,
    registry,
    logged,
    async leave(bytes: number) {
      space.free_bytes = bytes
      await disk.look()
    },
  }
}
const codes = (disk: { troubles(): { code: string }[] }) => disk.troubles().map(({ code }) => code)

describe('the level of a disk', () => {
  test.each([
    ['a tenth free is enough', 10 * gib, 100 * gib, 'ok'],
    ['less than a tenth is a warning', 9.9 * gib, 100 * gib, 'low'],
    ['less than the setting is a warning on a small disk', 1.9 * gib, 10 * gib, 'low'],
    ['less than the floor is full', disk_floor_bytes - 1, 100 * gib, 'full'],
    ['a disk of 800 MiB works with 120 MiB', 120 * mib, 800 * mib, 'low'],
    ['a disk of 800 MiB is full with 99 MiB', 99 * mib, 800 * mib, 'full'],
  ])('%s', (_what, free_bytes, size_bytes, level) => {
    expect(diskLevel({ free_bytes, size_bytes }, free_bytes_min, 'ok')).toBe(level)
  })

  test('a disk at its limit stays what it was until there is a quarter more', () => {
    const at = (free_bytes: number) => diskLevel({ free_bytes, size_bytes: 100 * gib }, free_bytes_min, 'full')
    expect([at(disk_floor_bytes), at(disk_floor_bytes * 1.2), at(disk_floor_bytes * 1.25)]).toEqual([
      'full',
      'full',
      'low',
    ])
  })
})

describe('a watch', () => {
  test('says once that little is left and once that it is enough again, and shows it meanwhile', async () => {
    const { disk, leave, logged, registry } = await openWatch()
    expect(codes(disk)).toEqual([])
    await leave(5 * gib)
    await leave(4 * gib)
    expect(codes(disk)).toEqual(['disk_low'])
    expect(disk.open()).toBe(true)
    expect(await registry.metrics()).toContain(`tributary_disk_free_bytes{folder="data"} ${4 * gib}`)
    await leave(50 * gib)
    expect(codes(disk)).toEqual([])
    expect(logged().match(/little space left/g)).toHaveLength(1)
    expect(logged().match(/enough space on the disk again/g)).toHaveLength(1)
  })

  test('closes the gate while the disk is full, and lets go on what waits as soon as there is space', async () => {
    const { disk, leave } = await openWatch(100 * mib)
    expect([disk.open(), codes(disk)]).toEqual([false, ['disk_full']])
    let passed = false
    const waiting = disk.opened(new AbortController().signal).then(() => {
      passed = true
    })
    await leave(disk_floor_bytes + 1)
    expect(passed).toBe(false)
    await leave(20 * gib)
    await waiting
    expect([passed, disk.open()]).toEqual([true, true])
    await disk.opened(new AbortController().signal)
  })

  test('lets a wait at the gate be given up', async () => {
    const { disk } = await openWatch(0)
    const stop = new AbortController()
    const waiting = disk.opened(stop.signal)
    stop.abort(new Error('stopped'))
    await expect(waiting).rejects.toThrow('stopped')
  })

  test('reads the disk of a real folder', async () => {
    const dir = await mkdtemp(join(tmpdir(), 'tributary-disk-'))
    const { service } = serviceUnderTest()
    const { logger, registry } = service
    await openDiskWatch({ folders: { data: dir }, free_bytes_min: 0, logger, registry })
    expect(await registry.metrics()).toMatch(/tributary_disk_free_bytes\{folder="data"\} [1-9]\d+/)
    await rm(dir, { recursive: true })
  })
})
