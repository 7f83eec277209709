import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { VersionBefore } from './version-before.ts'

const help = `node tools/bootstrap.mjs testing/upgrade/main.ts [COMMIT]

Makes a commit (HEAD) the version before: the one that upgrades are promised from, and that the test of rolling upgrades starts
(testing/upgrade/version-before.json). Run it with the commit of a release once that release is made, and commit the file.`

const { values, positionals } = parseArgs({ options: { help: { type: 'boolean' } }, allowPositionals: true })
const git = (...words: string[]) => execFileSync('git', words, { cwd: import.meta.dirname, encoding: 'utf8' })

/** Number of the newest migration in a folder of the commit. */
const newestIn = (commit: string, folder: string): number =>
  Math.max(
    ...[...git('ls-tree', '--name-only', commit, `:/${folder}/`).matchAll(/\/(\d{4})_\w+\.sql$/gm)].map(([, n]) =>
      Number(n),
    ),
  )

if (values.help) console.info(help)
else {
  const commit = git('rev-parse', '--verify', `${positionals[0] ?? 'HEAD'}^{commit}`).trim()
  const rule = 'packages/service-kit/src/resources/only-adds.ts'
  const before: VersionBefore = {
    commit,
    clickhouse: newestIn(commit, 'clickhouse/migrations'),
    postgres: newestIn(commit, 'packages/postgres/migrations'),
    starts_on_newer_schemas: git('ls-tree', '--name-only', commit, `:/${rule}`) !== '',
  }
  writeFileSync(join(import.meta.dirname, 'version-before.json'), `${JSON.stringify(before, null, 2)}\n`)
  console.info(before)
}
