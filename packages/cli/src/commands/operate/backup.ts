import type { Command } from 'commander'
import { print } from '../../output.ts'

const help = `
Copies the data folder (TRIBUTARY_DATA_DIR) of a standalone on this machine while it takes events. The copy holds every
event that was acknowledged before the command. It is a data folder and includes secrets. To restore it, start on a copy
of it (TRIBUTARY_DATA_DIR). The first start refills tables and reads the log again, and counts nothing twice. See
docs/backup.md.
--json: {folder, files, bytes}`

/** Adds `backup FOLDER`. */
export function backupCommand(program: Command): void {
  program
    .command('backup')
    .argument('<folder>', 'folder of the copy; must not exist, but the folder around it must')
    .description('copy the data folder of a running standalone')
    .addHelpText('after', help)
    .action(async (folder: string, { json }: { json?: boolean }) => {
      const { backUp } = await import('../../backup/backup.ts')
      const done = await backUp(folder)
      const mib = Math.ceil(done.bytes / 1024 ** 2)
      print({ json }, done, `${done.folder} is a backup (${done.files} files, ${mib} MiB).`)
    })
}
