import { copyFile, link, mkdir, readdir, readlink, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { openClickhouseServer } from '@tributary/clickhouse/server'
import { clickhouse as recipe } from '@tributary/testing/engines/clickhouse-http'
import { startOwnEngine } from '@tributary/testing/engines/own-engine'
import { pino } from 'pino'

/** A call may take long: a mask goes over every row of a part. */
const query_timeout_ms = 600_000

/**
 * ClickHouse as a process of its own over links of the files of a folder. The folder stays as it is. `stop` removes the links.
 */
export const startLinkedEngine = (folder: string) =>
  startOwnEngine({
    ...recipe,
    async launch(dir) {
      await linkFolder(folder, join(dir, 'data'))
      return recipe.launch(dir)
    },
  })

/** A client as a service has it. */
export const openClient = (url: string) =>
  openClickhouseServer({
    ...{ url, logger: pino({ level: 'warn' }), query_timeout_ms },
    ...{ max_open_connections: 8, connect_timeout_ms: 10_000 },
  })

/** `<partition>_<first block>_<last block>_<level>[_<mutation>]`: a part. The engine writes its files once. */
const partName = /_\d+_\d+_\d+(?:_\d+)?$/

/** Links the files of parts and copies all others; another disk takes copies of all. */
async function linkFolder(from: string, to: string, isPart = false): Promise<void> {
  await mkdir(to, { recursive: true })
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)]
    if (entry.isDirectory()) await linkFolder(source, target, isPart || partName.test(entry.name))
    else if (entry.isSymbolicLink()) await symlink(await readlink(source), target)
    else if (!isPart || !(await isLinked(source, target))) await copyFile(source, target)
  }
}

/** Whether the disk took a link. */
const isLinked = (source: string, target: string): Promise<boolean> =>
  link(source, target).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'EXDEV') return false
      throw error
    },
  )
