import { readFile } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import type { Command } from 'commander'
import { readEngineSettings } from '../config.ts'
import { CliError, usageError } from '../errors.ts'

type SecretSetting = 'TRIBUTARY_SERVER_KEY' | 'TRIBUTARY_SIGNING_SECRET'

/** Adds `--NAME` and `--NAME-file`. The file, and standard input (`-`), keep the secret out of the list of processes. */
export function secretOption(command: Command, name: string, what: string, setting: SecretSetting): Command {
  return command
    .option(`--${name} <${name}>`, `${what}; - reads standard input (default: ${setting})`)
    .option(
      `--${name}-file <file>`,
      `file with the ${name}, - for standard input; keeps it out of the list of processes`,
    )
}

/** The secret of the option, else of the setting. Throws CliError when both options or none are given. */
export async function readSecret(
  name: string,
  { given, file }: { given: string | undefined; file: string | undefined },
  setting: SecretSetting,
): Promise<string> {
  if (given !== undefined && file !== undefined) throw usageError(`Give --${name} or --${name}-file, not both.`)
  const secret = (await readGiven(name, given, file)) ?? readEngineSettings([setting], [])[setting] ?? ''
  if (secret !== '') return secret
  throw usageError(
    `No ${name}: give --${name}-file FILE, or --${name} - and the ${name} on standard input, or set ${setting}.`,
  )
}

/** The text of an option or of its file, `-` for standard input; undefined without either. */
export async function readGiven(name: string, given: string | undefined, file: string | undefined) {
  if (given === '-' || file === '-') return (await text(process.stdin)).trim()
  if (file === undefined) return given
  const content = await readFile(file, 'utf8').catch((error: Error) => {
    throw new CliError('unreadable_file', `--${name}-file: ${error.message}`)
  })
  return content.trim()
}
