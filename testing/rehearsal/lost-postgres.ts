import { chmod, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { copyTree } from '@tributary/cli/copy-tree'
import { copyCluster } from '@tributary/postgres/embedded/copy-cluster'
import { openBucket } from '../fleet/operator.ts'
import type { Replayed } from './lost-clickhouse.ts'
import { type Stage, startAll, stopAll } from './stage.ts'
import type { Steps } from './steps.ts'

const backupOf = ({ dir }: Stage) => join(dir, 'postgres')
const dataOf = ({ fleet }: Stage) => join(fleet.engine('postgres').dir, 'data')

/** A base backup of the running server with its write-ahead log, as `pg_basebackup` makes one: npm brings no such program. */
export async function backUpPostgres(stage: Stage): Promise<void> {
  await copyCluster(dataOf(stage), backupOf(stage), async (from, to, skip) => void (await copyTree(from, to, { skip })))
}

/** kill -9 of the server, and its disk with it. */
export async function losePostgres(stage: Stage): Promise<void> {
  await stage.fleet.engine('postgres').kill()
  await rm(join(dataOf(stage), 'cluster'), { recursive: true })
}

/** What docs/backup.md says of PostgreSQL: restore, start with the same master key, request erasures again, replay. */
export async function bringBackPostgres(stage: Stage, steps: Steps, backed_up_ms: number): Promise<void> {
  await steps.run('stop the services', () => stopAll(stage.processes))
  await steps.run('the backup is put back, and PostgreSQL starts', async () => {
    const folder = join(dataOf(stage), 'cluster')
    await copyTree(join(backupOf(stage), 'cluster'), folder)
    await chmod(folder, 0o700)
    await stage.fleet.engine('postgres').restart()
  })
  await steps.run('start the services', () => startAll(stage.processes))
  await steps.command('request erasures since the backup again', async () => {
    const asked = await findErasures(stage, backed_up_ms)
    for (const { app_id, install_uuid } of asked)
      await stage.tributary('erase', 'request', install_uuid, '--app', app_id)
    await stage.tributary('erase', 'run')
    return { requests: asked.length }
  })
  await steps.command('tributary replay --from-audit', () => stage.tributary<Replayed>('replay', '--from-audit'))
}

/** Installs whose erasure somebody requested since then, by the names of the objects of their requests. */
async function findErasures({ fleet }: Stage, since_ms: number) {
  const audit = await openBucket(fleet)
  const found: { app_id: string; install_uuid: string }[] = []
  try {
    for (const { app_id } of fleet.tenants)
      for await (const day of audit.list(`${app_id}/privacy/`))
        if (day.kind === 'folder')
          for await (const one of audit.list(day.folder)) {
            const [, install_uuid, at_ms] = (one.kind === 'object' && /([^/]+)~(\d+)\.json$/.exec(one.key ?? '')) || []
            if (install_uuid !== undefined && Number(at_ms) >= since_ms) found.push({ app_id, install_uuid })
          }
    return found
  } finally {
    await audit.close()
  }
}
