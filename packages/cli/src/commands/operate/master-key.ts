import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Command } from 'commander'
import { readConfig } from '../../config.ts'
import { withPostgres } from '../../engines/data-folder.ts'
import { usageError } from '../../errors.ts'
import { print } from '../../output.ts'

const help = `
For a master key that is lost for good. Stop every service first. The next start takes the master key that it is given, or
makes one in the data folder, once the old file master-key there is removed. Signing secrets of all apps made before are gone: /event answers 503 for them. Events,
reports and server keys go on.
--json: {forgotten: id of the key, or null}`

/** `master-key forget --yes`. */
export function masterKeyCommands(program: Command): void {
  program
    .command('master-key')
    .description('the key that encrypts signing secrets')
    .command('forget')
    .description('have the next start take another master key: signing secrets of all apps are lost')
    .option('--yes', 'yes, they are lost')
    .addHelpText('after', help)
    .action(async ({ yes, json }: { yes?: boolean; json?: boolean }) => {
      if (!yes) throw usageError('Signing secrets of all apps will be lost: say --yes.')
      const { forgetMasterKey } = await import('@tributary/tenancy/secrets/master-key-check')
      const actor = { actor: 'tributary master-key forget', request_id: 'cli', now_ms: Date.now() }
      const forgotten = await withPostgres((pool) => forgetMasterKey(pool, actor))
      const text = forgotten === null ? 'No master key was in use.' : `The master key ${forgotten} is forgotten.`
      print({ json }, { forgotten }, [text, ...leftFile()].join('\n'))
    })
}

/** The next start reads a file that is there, and refuses one that is empty or cut. */
function leftFile(): string[] {
  const file = resolve(readConfig().data_dir, 'master-key')
  if (!existsSync(file)) return []
  return [`The next start takes the key in ${file}, and refuses it when it is empty or cut. For a new one: rm ${file}`]
}
