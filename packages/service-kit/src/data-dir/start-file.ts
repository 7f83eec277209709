import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { z } from 'zod'
import { findForeignAccess } from '../settings/private-file.ts'

const text = z.string().min(1).max(4096)
const StartFile = z.object({ url: text, data_dir: text, instance: text })

/**
 * The file that the last start of a standalone leaves for commands in the same directory: its address, its data folder,
 * and the `instance` that its admin API reports, so that a command can tell whether an address is that of a folder.
 * It lies in the data folder, and in `./.tributary` when that is another one.
 */
export type StartFile = z.infer<typeof StartFile>

export const startFilePath = (folder: string): string => join(folder, 'start.json')

/**
 * The start that a folder names; null when there is none, or when others may have written it: a command sends the admin
 * token to that address. Where a folder names another data folder, the start that lies in that one counts.
 */
export function readStart(folder: string): StartFile | null {
  const found = readOwn(startFilePath(folder))
  if (found === null || resolve(folder) === resolve(found.data_dir)) return found
  return readOwn(startFilePath(found.data_dir))
}

function readOwn(path: string): StartFile | null {
  let file: number | null = null
  try {
    file = openSync(path, 'r')
    if (findForeignAccess(fstatSync(file)) !== null) return null
    return StartFile.safeParse(JSON.parse(readFileSync(file, 'utf8'))).data ?? null
  } catch {
    return null
  } finally {
    if (file !== null) closeSync(file)
  }
}
