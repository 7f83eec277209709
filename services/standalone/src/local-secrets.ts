import { randomBytes } from 'node:crypto'
import { closeSync, fstatSync, fsyncSync, openSync, readFileSync, renameSync, rmSync, writeSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { limits } from '@tributary/contracts/limits'
import { findForeignAccess } from '@tributary/service-kit/settings/private-file'
import { StartRefused } from '@tributary/service-kit/settings/start-refused'

/** Writes a file that only its owner may read, whole or not at all; it survives a power cut from then on. */
export function writePrivateFile(path: string, content: string): void {
  rmSync(`${path}.new`, { force: true })
  const file = openSync(`${path}.new`, 'wx', 0o600)
  writeSync(file, content)
  fsyncSync(file)
  closeSync(file)
  renameSync(`${path}.new`, path)
  // The name of the file, and that of its folder, which may be as new as the file.
  syncFolder(dirname(path))
  syncFolder(dirname(dirname(path)))
}

function syncFolder(path: string): void {
  const folder = openSync(path, 'r')
  fsyncSync(folder)
  closeSync(folder)
}

/** The text of a secret file, null when there is none. Throws `StartRefused` when it is not ours alone. */
export function readPrivateFile(path: string): string | null {
  let file: number
  try {
    file = openSync(path, 'r')
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw new StartRefused(`${path} can't be read: ${(cause as Error).message}.`, { cause })
  }
  try {
    refuseForeign(path, file)
    return readFileSync(file, 'utf8').trim()
  } finally {
    closeSync(file)
  }
}

/** Another user who can write the file may have chosen the secret, and one who can read it knows it. */
function refuseForeign(path: string, file: number): void {
  const foreign = findForeignAccess(fstatSync(file))
  if (foreign?.kind === 'owner') {
    const { uid, ours } = foreign
    throw new StartRefused(
      `${path} belongs to user ${uid}, not to ${ours}, who runs this. If it is yours: chown ${ours} ${path}`,
    )
  }
  if (foreign?.kind === 'mode')
    throw new StartRefused(`${path} is open to other users. If you believe its content: chmod 600 ${path}`)
}

/** The bearer token of the admin API in `admin-token` of a data folder, made at the first start. Throws `StartRefused` for a short one. */
export function openAdminToken(data_dir: string): string {
  const path = join(data_dir, 'admin-token')
  const token = readPrivateFile(path) || make(path, randomBytes(24).toString('hex'))
  if (token.length >= limits.admin_token_chars_min) return token
  throw new StartRefused(
    `${path} holds fewer than ${limits.admin_token_chars_min} characters. Delete it: the next start makes a new token.`,
  )
}

/** A new master key in `master-key` of a data folder: 32 bytes in base64. */
export const makeMasterKey = (path: string): string => make(path, randomBytes(32).toString('base64'))

function make(path: string, secret: string): string {
  writePrivateFile(path, `${secret}\n`)
  return secret
}
