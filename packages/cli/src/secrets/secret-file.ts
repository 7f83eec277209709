import { readFile, stat } from 'node:fs/promises'
import { findForeignAccess } from '@tributary/service-kit/settings/private-file'
import { type Check, failed } from '../examine/check.ts'

/** Reads a secret file, which only its owner may read. Null without a file; a failed check when it can't be used. */
export async function readSecretFile(name: string, file: string): Promise<{ text: string } | { check: Check } | null> {
  const found = await stat(file).catch(() => null)
  if (found === null) return null
  const foreign = findForeignAccess(found)
  if (foreign?.kind === 'owner') {
    const fix = `If the file is yours: chown ${foreign.ours} ${file}. Otherwise replace it with your copy.`
    return { check: failed(name, `${file} belongs to user ${foreign.uid}, not to ${foreign.ours}`, fix) }
  }
  if (foreign?.kind === 'mode')
    return { check: failed(name, `${file} is open to others (mode ${foreign.mode})`, `chmod 600 ${file}`) }
  return readFile(file, 'utf8').then(
    (text) => ({ text: text.trim() }),
    (error: Error) => ({ check: failed(name, `${file} can't be read: ${error.message}`, `chmod 600 ${file}`) }),
  )
}
