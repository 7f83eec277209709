import type { Command } from 'commander'
import { several } from '../../arguments.ts'
import { CliError, usageError } from '../../errors.ts'
import type { Check } from '../../examine/check.ts'
import { examine } from '../../examine/examine.ts'
import { print, printable } from '../../output.ts'

/** Adds `doctor`. */
export function doctorCommand(program: Command): void {
  program
    .command('doctor')
    .description('check what Tributary needs, and show how to fix what fails')
    .option(
      '--service <url>',
      'also check the /health of this service, such as an event-writer; may be repeated',
      several,
    )
    .option('--clickhouse', 'instead, try all that Tributary sends on the ClickHouse server, in a database of its own')
    .addHelpText('after', '\n--json: {ok, checks: [{name, ok, found, fix}]}; exit 1 when a check fails')
    .action(async (options: { service?: string[]; clickhouse?: true; json?: boolean }) => {
      const checks = options.clickhouse ? await tryOut() : await examine((options.service ?? []).map(checkAddress))
      const failed = checks.filter(({ ok }) => !ok)
      print(options, { ok: failed.length === 0, checks }, checks.map(describe).join('\n'))
      if (failed.length > 0) throw new CliError('unhealthy', `Failed: ${failed.map(({ name }) => name).join(', ')}.`)
    })
}

// Imported here, because the client of the engine takes long to load.
const tryOut = async () => (await import('../../examine/try-clickhouse.ts')).tryClickhouse()

function checkAddress(text: string): string {
  if (/^https?:\/\//.test(text) && URL.canParse(text)) return text.replace(/\/+$/, '')
  throw usageError('--service takes an address such as http://event-writer:8080.')
}

function describe({ name, ok, found, fix }: Check): string {
  const line = `${ok ? 'ok  ' : 'FAIL'}  ${printable(`${name}: ${found}`)}`
  return fix === null ? line : `${line}\n      ${printable(fix)}`
}
