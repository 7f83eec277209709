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
  'Which role may call which route of `/admin/api/v1`. `npm run dump` makes this page from the declared routes: do not edit it. The page',
  'on people explains the roles. The admin token may call every route. `rights.service.test.ts` requests each route with each role that',
  'has no mark here. Where only some roles may set a field, their cells name it in brackets. The last column says over what a person must',
  'hold the role: the company or app of the request, or the app of its key or link; empty: over any company. `limited roles too`: also a',
  'role that is limited to apps, which sees these alone. `password of 15 min`: the person gave the password within 15 minutes.',
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
