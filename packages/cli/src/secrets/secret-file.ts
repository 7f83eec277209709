import { readFile, stat } from 'node:fs/promises'
import { type Check, failed } from '../examine/check.ts'

/** The text of a secret file that its owner alone may read, null when there is none; else the check that failed. */
export async function readSecretFile(name: string, file: string): Promise<{ text: string } | { check: Check } | null> {
  const found = await stat(file).catch(() => null)
  if (found === null) return null
  const ours = process.getuid?.()
  if (ours !== undefined && found.uid !== ours) {
    const mend = `If it is yours: chown ${ours} ${file}; else put your copy there.`
    return { check: failed(name, `${file} belongs to user ${found.uid}, not to ${ours}`, mend) }
  }
  if ((found.mode & 0o077) !== 0) {
    const mode = (found.mode & 0o777).toString(8)
    return { check: failed(name, `${file} is open to others (mode ${mode})`, `chmod 600 ${file}`) }
  }
  return readFile(file, 'utf8').then(
    (text) => ({ text: text.trim() }),
    (error: Error) => ({ check: failed(name, `${file} can't be read: ${error.message}`, `chmod 600 ${file}`) }),
  )
}
