import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { adminRoutes } from '@tributary/contracts/admin/admin-routes'
import { roles } from '@tributary/contracts/admin/people/roles'
import type { Route } from '@tributary/contracts/route'

const file = join(import.meta.dirname, '..', 'docs', 'roles.md')

const head = [
  '# Roles and routes',
  '',
  'Who may call which route of `/admin/api/v1`, made by `npm run dump` from the declared routes: do not edit. The page on people',
  'explains the roles. The admin token may call all of these. `rights.service.test.ts` asks each route with each role that has no mark here.',
  'Fields in brackets are those that the role may give, where a body has fields of certain roles.',
  '',
  '',
].join('\n')

/** Columns of one width: the file is as the formatter of documents leaves it. */
function table(rows: readonly string[][]): string {
  const widths = rows[0]!.map((_, n) => Math.max(...rows.map((row) => row[n]!.length)))
  const line = (cells: readonly string[]) => `| ${cells.map((cell, n) => cell.padEnd(widths[n]!)).join(' | ')} |`
  const [first = [], ...others] = rows
  return [line(first), line(widths.map((width) => '-'.repeat(width))), ...others.map(line)].join('\n')
}

function rolesText(): string {
  const guarded = Object.values<Route>(adminRoutes).filter(({ auth }) => auth === 'admin')
  const rows = guarded.map(({ method, path, over, roles: allowed = [], fields = {}, fresh, limited }) => {
    const marks = roles.map((role) => {
      const own = Object.entries(fields).flatMap(([name, some]) => (some.includes(role) ? [name] : []))
      return allowed.includes(role) ? ['yes', ...own.map((name) => `(${name})`)].join(' ') : ''
    })
    const more = [
      over?.split(' ')[0] ?? '',
      ...(limited ? ['limited roles too'] : []),
      ...(fresh ? ['password of 15 min'] : []),
    ]
    const name = `${method} ${path.replace('/admin/api/v1', '')}`
    return [`\`${name}\``, ...marks, more.filter((text) => text !== '').join(', ')]
  })
  return `${head}${table([['Route', ...roles, 'Held over'], ...rows])}\n`
}

/** Writes docs/roles.md; with `--check` it only says when that is out of date, and exits with 1. */
async function main(): Promise<void> {
  const { values } = parseArgs({ options: { check: { type: 'boolean', default: false } } })
  const text = rolesText()
  if (!values.check) await writeFile(file, text)
  else if ((await readFile(file, 'utf8').catch(() => '')) !== text) {
    console.error('docs/roles.md is not what the routes declare: run `npm run dump` and commit it.')
    process.exitCode = 1
  }
}

if (import.meta.main) await main()
