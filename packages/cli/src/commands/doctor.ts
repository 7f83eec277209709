import type { Command } from 'commander'
import type { Check } from '../check.ts'
import { CliError } from '../errors.ts'
import { examine } from '../examine.ts'
import { print } from '../output.ts'

/** `doctor`. */
export function doctorCommand(program: Command): void {
  program
    .command('doctor')
    .description('look for what keeps Tributary from working, and say how to mend it')
    .addHelpText('after', '\n--json: {ok, checks: [{name, ok, found, mend}]}; exit 1 when a check fails')
    .action(async (options: { json?: boolean }) => {
      const checks = await examine()
      const failed = checks.filter(({ ok }) => !ok)
      print(options, { ok: failed.length === 0, checks }, checks.map(describe).join('\n'))
      if (failed.length > 0) throw new CliError('unhealthy', `Failed: ${failed.map(({ name }) => name).join(', ')}.`)
    })
}

function describe({ name, ok, found, mend }: Check): string {
  const line = `${ok ? 'ok  ' : 'FAIL'}  ${name}: ${found}`
  return mend === null ? line : `${line}\n      ${mend}`
}
