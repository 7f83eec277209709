import { execFile } from 'node:child_process'
import { stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** How to start a PostgreSQL program: words put before its command line, and the user it runs as. */
export interface PostgresAccount {
  prefix: readonly string[]
  /** Owner that the data folder needs; undefined leaves the present user. */
  uid: number | undefined
  gid: number | undefined
}

/**
 * The account PostgreSQL runs under. PostgreSQL refuses root, so root lends it the system user `postgres` (made when it is
 * missing); where that user may not enter (a clone in /root), a user namespace shows it root's own files under that name.
 */
export async function choosePostgresAccount(paths: readonly string[]): Promise<PostgresAccount> {
  if (process.getuid?.() !== 0) return { prefix: [], uid: undefined, gid: undefined }
  const { uid, gid } = await findOrMakePostgresUser()
  const closed = await firstClosedFolder(paths)
  if (closed === undefined) return { prefix: [], uid, gid }
  const prefix = ['unshare', '--user', `--map-user=${uid}`, `--map-group=${gid}`, '--']
  const allowed = await run(prefix[0]!, [...prefix.slice(1), 'true']).then(
    () => true,
    () => false,
  )
  if (allowed) return { prefix, uid: undefined, gid: undefined }
  throw new Error(
    `PostgreSQL refuses to run as root, and the user postgres may not enter ${closed}. Run as an ordinary user, ` +
      'or keep both the checkout and TRIBUTARY_DATA_DIR in folders that every user may enter.',
  )
}

async function findOrMakePostgresUser(): Promise<{ uid: number; gid: number }> {
  const numberOf = async (flag: '-u' | '-g') => Number((await run('id', [flag, 'postgres'])).stdout)
  try {
    await run('id', ['-u', 'postgres']).catch(() => run('useradd', ['--system', '--user-group', 'postgres']))
    return { uid: await numberOf('-u'), gid: await numberOf('-g') }
  } catch (cause) {
    throw new Error(
      'PostgreSQL refuses to run as root, and no user postgres could be made: run as an ordinary user, or make that user.',
      { cause },
    )
  }
}

/** The first folder on the way to one of the paths that other users may not enter. */
async function firstClosedFolder(paths: readonly string[]): Promise<string | undefined> {
  for (const path of paths) {
    for (let folder = path; folder !== dirname(folder); folder = dirname(folder)) {
      if (((await stat(folder)).mode & 0o001) === 0) return folder
    }
  }
  return undefined
}
