import { readFile } from 'node:fs/promises'
import { storedDataRoutes } from '@tributary/contracts/admin/stored-data'
import type { Command } from 'commander'
import { admin } from '../../admin.ts'
import { readableFile } from '../../arguments.ts'
import { CliError } from '../../errors.ts'
import { print } from '../../output.ts'

const help = `
FILE.csv is a file of the ECB: eurofxref-hist.csv (all days since 1999) or eurofxref.csv (the last day). An amount is
converted to USD with the rate of its day, or of the last day before it. A file may be loaded again; a corrected rate
replaces the old one. When the command ends, reports use the new rates, for past days too.
--json: {days, currencies, rates, from, to}`

/** Adds `fx load`. */
export function fxCommands(program: Command): void {
  const fx = program.command('fx').description('exchange rates: load')
  fx.command('load')
    .description('load reference rates of the European Central Bank')
    .argument('<file>', 'FILE.csv', readableFile)
    .addHelpText('after', help)
    .action(async (path: string, options: { json?: boolean }) => {
      const loaded = await admin(storedDataRoutes.loadFxRates, { body: await readCsv(path) })
      const { days, currencies, rates, from, to } = loaded
      print(options, loaded, `${rates} rates of ${currencies} currencies on ${days} days, ${from} to ${to}`)
    })
}

/** The ECB gives its files as zip. */
async function readCsv(path: string): Promise<string> {
  const text = await readFile(path, 'utf8')
  if (text.startsWith('PK')) throw new CliError('bad_csv', `${path} is a zip file: unzip it, and load the CSV in it.`)
  return text
}
