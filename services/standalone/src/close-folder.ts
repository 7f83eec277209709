import { chmodSync, lstatSync, readdirSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { StartRefused } from '@tributary/service-kit/settings/start-refused'

/** A path that other users could open, and its mode before and after. */
export interface Closed {
  path: string
  before: string
  after: string
}

/** Bits of other users. */
const foreign_bits = 0o077
/** Lets others enter a folder whose content they know, and neither list nor change it. */
const enter_bits = 0o011

/** Secrets that others may have read or written: the start refuses them, and must not hide that. */
const refused_names: ReadonlySet<string> = new Set(['master-key', 'admin-token'])

/**
 * Takes a data folder away from other users: the folder and what lies directly in it, which closes all below. Modes are
 * only ever tightened. Root leaves others the right to enter the folder itself, if they had it: embedded PostgreSQL runs as another
 * user then. Links in it are left as they are: they may lead to something else. Gives what was open. Throws `StartRefused` for
 * a folder that belongs to another user.
 */
export function closeFolder(data_dir: string): Closed[] {
  const names = readdirSync(data_dir).filter((name) => !refused_names.has(name))
  const ofFolder = process.getuid?.() === 0 ? foreign_bits & ~enter_bits : foreign_bits
  // The setting may name a link: what it leads to is the data folder.
  const folder = close(realpathSync(data_dir), ofFolder, refuse)
  // What is another user's, and open, lies in a folder that is closed now.
  const inner = names.map((name) => close(join(data_dir, name), foreign_bits, () => null))
  return [folder, ...inner].filter((one) => one !== null)
}

function close(path: string, bits: number, onFailed: (path: string, cause: unknown) => null): Closed | null {
  const found = lstatSync(path, { throwIfNoEntry: false })
  if (found === undefined || found.isSymbolicLink() || (found.mode & bits) === 0) return null
  const mode = found.mode & 0o777 & ~bits
  try {
    chmodSync(path, mode)
  } catch (cause) {
    return onFailed(path, cause)
  }
  return { path, before: octal(found.mode), after: octal(mode) }
}

function refuse(path: string, cause: unknown): never {
  const { uid, mode } = lstatSync(path)
  const ours = process.getuid?.()
  throw new StartRefused(
    `${path} is open to other users (mode ${octal(mode)}), and belongs to user ${uid}, not to ${ours}, who runs this.\n` +
      `If it is yours: chown ${ours} ${path}. Otherwise name a folder inside it with TRIBUTARY_DATA_DIR.`,
    { cause },
  )
}

const octal = (mode: number): string => (mode & 0o777).toString(8)
