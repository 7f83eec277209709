import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Command } from 'commander'
import { readConfig } from '../../config.ts'
import { withPostgres } from '../../engines/data-folder.ts'
import { usageError } from '../../errors.ts'
import { print } from '../../output.ts'

const help = `
Use it only when the master key is lost for good. Stop every service first, and remove the old file master-key from the
data folder. The next start uses the master key of its settings, or makes a new one in the data folder. The signing
secrets of all existing apps are lost: /event answers 503 for those apps. Events, reports and server keys keep working.
--json: {forgotten: id of the key, or null}`

/** Adds `master-key forget --yes`. */
export function masterKeyCommands(program: Command): void {
  program
    .command('master-key')
    .description('the key that encrypts signing secrets: forget')
    .command('forget')
    .description('let the next start use another master key; the signing secrets of all apps are lost')
    .option('--yes', 'confirm that all signing secrets are lost')
    .addHelpText('after', help)
    .action(async ({ yes, json }: { yes?: boolean; json?: boolean }) => {
      if (!yes) throw usageError('The signing secrets of all apps will be lost. Add --yes to confirm.')
      const { forgetMasterKey } = await import('@tributary/tenancy/secrets/master-key-check')
      const actor = { actor: 'tributary master-key forget', request_id: 'cli', now_ms: Date.now() }
      const forgotten = await withPostgres((pool) => forgetMasterKey(pool, actor))
      const text = forgotten === null ? 'No master key was in use.' : `The master key ${forgotten} is forgotten.`
      print({ json }, { forgotten }, [text, ...leftFile()].join('\n'))
    })
}

/** A warning about an existing key file: the next start reads it, and refuses an empty or cut one. */
function leftFile(): string[] {
  const file = resolve(readConfig().data_dir, 'master-key')
  if (!existsSync(file)) return []
  return [`The next start uses the key in ${file}, and refuses an empty or cut file. For a new key: rm ${file}`]
}
