import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { withoutSettings } from './fleet-process.ts'

const ms_max = 120_000

/** Runs a command of `tributary` in a checkout with the settings `env`; gives what it printed, and throws when it fails. */
export async function runTributary(
  checkout: string,
  args: readonly string[],
  env: Record<string, string>,
): Promise<string> {
  const program = join(checkout, 'packages', 'cli', 'bin', 'tributary.mjs')
  const options = { cwd: checkout, env: { ...withoutSettings(process.env), ...env }, timeout: ms_max }
  return (await promisify(execFile)(process.execPath, [program, ...args], options)).stdout
}
