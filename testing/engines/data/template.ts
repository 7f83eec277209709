import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

/** A PostgreSQL cluster with a migrated database besides those that every cluster has. */
export const cluster_template = 'postgres'
/** The data folder of a migrated ClickHouse engine. */
export const tables_template = 'clickhouse'

/**
 * Fills a folder with what `make` leaves in an empty one. All tests of one `npm test` need the same: the first one makes it in
 * the folder that `npm test` names, and the others copy it. It must hold no path of its own.
 */
export async function fillFolder(name: string, dir: string, make: (dir: string) => Promise<void>): Promise<void> {
  const template = templateOf(name)
  if (template === null) return make(dir)
  if (!existsSync(template)) {
    const draft = await mkdtemp(`${template}-`)
    await make(draft)
    await rename(draft, template).catch(() => rm(draft, { recursive: true })) // another test was first
  }
  await copyFolder(template, dir)
}

/** Copies what an earlier test made by this name; does nothing where none did. */
export async function copyTemplate(name: string, dir: string): Promise<void> {
  const template = templateOf(name)
  if (template === null || !existsSync(template)) return
  await mkdir(dir, { recursive: true, mode: 0o700 })
  await copyFolder(template, dir)
}

function templateOf(name: string): string | null {
  const templates = process.env.KEEP_TEMPLATES_IN
  return templates === undefined ? null : join(templates, name)
}

/** The content of a folder into an empty one. `cp` is many times as fast as Node on a thousand files. */
const copyFolder = (from: string, to: string) => promisify(execFile)('cp', ['-a', `${from}/.`, to])
