import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { openS3AuditStore } from '@tributary/audit-store/s3'
import type { Fleet } from './fleet.ts'

/** Runs commands with `--json` as an operator of the fleet does, and returns the answer. */
export type Tributary = <Answer>(...args: string[]) => Promise<Answer>

/** A command ended with another code than 0. */
export class CommandFailed extends Error {
  override name = 'CommandFailed'
  /** What it printed on stdout. */
  readonly stdout: string
  constructor(command: string, { stdout, stderr }: { stdout: string; stderr: string }) {
    super(`tributary ${command}: ${stderr}${stdout}`)
    this.stdout = stdout
  }
}

const run = promisify(execFile)
const program = join(import.meta.dirname, '..', '..', 'packages', 'cli', 'src', 'main.ts')
const output_bytes_max = 64 * 1024 * 1024

/** `urls` gives the address that a command needs: costs go to a gateway, all other requests to admin-api. */
export function operatorOf(fleet: Fleet, urls: { admin: string; gateway: string }, cwd: string): Tributary {
  const env = {
    ...fleet.settings,
    ...{ PATH: process.env.PATH, TRIBUTARY_KAFKA_REPLICATION_FACTOR: '1', TRIBUTARY_KAFKA_MIN_INSYNC_REPLICAS: '1' },
  }
  return async <Answer>(...args: string[]) => {
    const url = args[0] === 'cost' ? urls.gateway : urls.admin
    const { stdout } = await run(process.execPath, [program, ...args, '--json'], {
      ...{ cwd, maxBuffer: output_bytes_max },
      env: { ...env, TRIBUTARY_URL: url },
    }).catch((error) => {
      throw new CommandFailed(args.join(' '), error)
    })
    return JSON.parse(stdout) as Answer
  }
}

/** The bucket of audit objects, for the test itself. */
export const openBucket = ({ settings }: Fleet) =>
  openS3AuditStore({
    ...{ endpoint: settings.TRIBUTARY_S3_ENDPOINT!, bucket: settings.TRIBUTARY_S3_BUCKET!, region: 'us-east-1' },
    credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
  })
