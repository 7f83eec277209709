import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'

export interface Stored {
  bytes: number
  /** Paths of objects below the app's folder. */
  objects: string[]
}

/** The audit objects of one app in the folder of a standalone process. */
export function storedOf(data_dir: string, app_id: string): Stored {
  const dir = join(data_dir, 'audit')
  const names = readdirSync(dir, { recursive: true, encoding: 'utf8' })
  const objects = names.filter((name) => name.includes(app_id) && statSync(join(dir, name)).isFile())
  return { objects, bytes: objects.reduce((sum, name) => sum + statSync(join(dir, name)).size, 0) }
}

/** Bytes of all files in a folder. */
export const bytesBelow = (dir: string): number =>
  readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0)
