import { randomBytes } from 'node:crypto'
import { closeSync, existsSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs'
import { join } from 'node:path'

/** Writes a file that only its owner may read, durable and whole or not at all. */
export function writePrivateFile(path: string, content: string): void {
  const file = openSync(`${path}.new`, 'w', 0o600)
  writeSync(file, content)
  fsyncSync(file)
  closeSync(file)
  renameSync(`${path}.new`, path)
}

function keepOrMake(path: string, make: () => string): string {
  if (!existsSync(path)) writePrivateFile(path, `${make()}\n`)
  return readFileSync(path, 'utf8').trim()
}

export interface LocalSecrets {
  admin_token: string
  /** 32 bytes in base64. */
  master_key: string
}

/** The secrets of a standalone data folder, made at the first start: `admin-token` and `master-key`, mode 0600. */
export function openLocalSecrets(data_dir: string): LocalSecrets {
  return {
    admin_token: keepOrMake(join(data_dir, 'admin-token'), () => randomBytes(24).toString('hex')),
    master_key: keepOrMake(join(data_dir, 'master-key'), () => randomBytes(32).toString('base64')),
  }
}
