import { readFile, stat } from 'node:fs/promises'
import { findForeignAccess } from '@tributary/service-kit/settings/private-file'
import { type Check, failed } from '../examine/check.ts'

/** The text of a secret file that its owner alone may read, null when there is none; else the check that failed. */
export async function readSecretFile(name: string, file: string): Promise<{ text: string } | { check: Check } | null> {
  const found = await stat(file).catch(() => null)
  if (found === null) return null
  const foreign = findForeignAccess(found)
  if (foreign?.kind === 'owner') {
    const fix = `If it is yours: chown ${foreign.ours} ${file}; else put your copy there.`
    return { check: failed(name, `${file} belongs to user ${foreign.uid}, not to ${foreign.ours}`, fix) }
  }
  if (foreign?.kind === 'mode')
    return { check: failed(name, `${file} is open to others (mode ${foreign.mode})`, `chmod 600 ${file}`) }
  return readFile(file, 'utf8').then(
    (text) => ({ text: text.trim() }),
    (error: Error) => ({ check: failed(name, `${file} can't be read: ${error.message}`, `chmod 600 ${file}`) }),
  )
}
