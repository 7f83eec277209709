import { existsSync, mkdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { type StartFile, startFilePath } from '@tributary/service-kit/data-dir/start-file'
import { settings } from '@tributary/service-kit/settings/settings'
import type { Logger } from 'pino'
import { writePrivateFile } from './local-secrets.ts'

/**
 * Writes for commands in this directory where this start answers and where its data is (`StartFile` of service-kit). A default
 * folder that holds data of its own is left alone: commands mean that one.
 */
export function writeStart(start: StartFile, logger: Logger): void {
  const byDefault = resolve(settings.TRIBUTARY_DATA_DIR.default_text!)
  const hasOwnData = byDefault !== start.data_dir && existsSync(join(byDefault, 'lock.sqlite'))
  for (const folder of hasOwnData ? [start.data_dir] : new Set([start.data_dir, byDefault])) {
    try {
      mkdirSync(folder, { recursive: true, mode: 0o700 })
      writePrivateFile(startFilePath(folder), `${JSON.stringify(start)}\n`)
    } catch (err) {
      // A full disk, or a directory that is read-only: the service goes on, and commands need their settings.
      logger.warn({ err, folder }, 'commands in this directory need TRIBUTARY_URL and TRIBUTARY_DATA_DIR')
    }
  }
}
