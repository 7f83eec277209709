import { mkdirSync } from 'node:fs'
import { open, readdir, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { EventStorage } from '../../src/storage.ts'

/** Storage for an SDK client on Node: one file per key in a folder. A kill or a power cut leaves only whole values. */
export function fileStorage(folder: string): EventStorage {
  mkdirSync(folder, { recursive: true })
  return {
    get: (key) => readFile(join(folder, key), 'utf8').catch(() => null),
    async set(key, value) {
      const file = await open(join(folder, `${key}~`), 'w')
      try {
        await file.writeFile(value)
        await file.datasync()
      } finally {
        await file.close()
      }
      await rename(join(folder, `${key}~`), join(folder, key))
    },
    delete: (key) => rm(join(folder, key), { force: true }),
    keys: async () => (await readdir(folder)).filter((name) => !name.endsWith('~')),
  }
}
