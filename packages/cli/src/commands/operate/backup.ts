import type { Command } from 'commander'
import { print } from '../../output.ts'

const help = `
Copies the data folder (TRIBUTARY_DATA_DIR) of a standalone that runs on this machine, while it takes events. Everything
acknowledged before the command is in the copy. The copy is a data folder, secrets included: to restore it, start on a copy of
it (TRIBUTARY_DATA_DIR). That start fills tables and reads the log again, and counts nothing twice. See docs/backup.md.
--json: {folder, files, bytes}`

/** `backup FOLDER`. */
export function backupCommand(program: Command): void {
  program
    .command('backup')
    .argument('<folder>', 'where the copy is made; must not exist')
    .description('copy the data folder of a running standalone')
    .addHelpText('after', help)
    .action(async (folder: string, { json }: { json?: boolean }) => {
      const { backUp } = await import('../../backup/backup.ts')
      const done = await backUp(folder)
      const mib = Math.ceil(done.bytes / 1024 ** 2)
      print({ json }, done, `${done.folder} is a backup (${done.files} files, ${mib} MiB).`)
    })
}
