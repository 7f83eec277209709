import { closeSync, mkdirSync, openSync, writeSync } from 'node:fs'
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { hasCode } from './has-code.ts'
import type { JournalRecord } from './journal.ts'

/**
 * Writes a file that was not there, without a sync; puts its path into `made` once it is. In this thread: three calls that
 * only reach the page cache cost a fraction of their way to the thread pool and back.
 */
export function writeNew(path: string, content: Buffer, made: string[]): void {
  const fd = openNew(path)
  made.push(path)
  try {
    for (let at = 0; at < content.length; ) at += writeSync(fd, content, at)
  } finally {
    closeSync(fd)
  }
}

function openNew(path: string): number {
  try {
    return openSync(path, 'wx', 0o600)
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw error
  }
  // An operator has removed old days by hand.
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  return openSync(path, 'wx', 0o600)
}

/** Writes what a record names again, where it is not exactly there. */
export async function restore(root: string, { name, content }: JournalRecord): Promise<void> {
  const path = join(root, name)
  const found = await readFile(path).catch((error) => {
    if (hasCode(error, 'ENOENT')) return null
    throw error
  })
  if (found?.equals(content)) return
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  const whole = join(root, '.tmp', 'restored')
  await writeFile(whole, content, { mode: 0o600 })
  await rename(whole, path)
}
