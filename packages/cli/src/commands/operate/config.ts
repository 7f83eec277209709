import type { Command } from 'commander'
import { listSettings } from '../../config.ts'
import { print, table } from '../../output.ts'

/** Adds `config`. */
export function configCommand(program: Command): void {
  program
    .command('config')
    .description('list all settings with meaning, default and present value (secrets masked)')
    .action((options: { json?: boolean }) => {
      const settings = listSettings()
      const rows = settings.map((one) => [
        one.name,
        one.value ?? (one.default || null),
        one.default || null,
        one.meaning,
      ])
      print(options, { settings }, table(['setting', 'value', 'default', 'meaning'], rows))
    })
}
