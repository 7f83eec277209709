import { readFile, stat } from 'node:fs/promises'
import { type Check, failed } from '../examine/check.ts'

/** Reads a secret file, which only its owner may read. Null without a file; a failed check when it can't be used. */
export async function readSecretFile(name: string, file: string): Promise<{ text: string } | { check: Check } | null> {
  const found = await stat(file).catch(() => null)
  if (found === null) return null
  const ours = process.getuid?.()
  if (ours !== undefined && found.uid !== ours) {
    const mend = `If the file is yours: chown ${ours} ${file}. Otherwise replace it with your copy.`
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
