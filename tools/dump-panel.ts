import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { adminRoutes } from '@tributary/contracts/admin/admin-routes'
import { errorCatalogue } from '@tributary/contracts/errors'
import { limits } from '@tributary/contracts/limits'
import { columnsOf, filtersOf, type ReportName, reportNames, reportRoutes, reports } from '@tributary/contracts/reports'
import type { Route } from '@tributary/contracts/route'
import { declaredRoutes } from '@tributary/standalone/declared-routes'
import { z } from 'zod'

const root = join(import.meta.dirname, '..')
const folder = join(root, 'packages', 'panel', 'src', 'api', 'declared')
const head = '// Made by `npm run dump`: do not edit.\n'
const json = (value: unknown) => JSON.stringify(value, null, 2)

/** Method and path of each route that the panel may call, and the people who may call it. */
function routesText(): string {
  const { getHealth, sendBatch, putCosts } = declaredRoutes
  const all: Record<string, Route> = { ...adminRoutes, ...reportRoutes, getHealth, sendBatch, putCosts }
  const routes = Object.fromEntries(
    Object.entries(all).map(([name, { method, path, roles, fresh }]) => [
      name,
      { method, path, ...(roles && { roles }), ...(fresh && { fresh }) },
    ]),
  )
  return `${head}export const routes = ${json(routes)} as const\n`
}

/** Limits that a page shows or holds. */
function limitsText(): string {
  const { report_limit_max, report_window_days_max, find_chars_max, password_chars_min, live_events_per_s_max } = limits
  const { costs_max, view_name_chars_max, note_chars_max } = limits
  const { keep_days_max, keep_click_days_max, click_window_hours_max, reinstall_days_max } = limits
  const shown = {
    ...{ report_limit_max, report_window_days_max, find_chars_max, password_chars_min, live_events_per_s_max },
    ...{ costs_max, view_name_chars_max, note_chars_max },
    ...{ keep_days_max, keep_click_days_max, click_window_hours_max, reinstall_days_max },
  }
  return `${head}export const limits = ${json(shown)} as const\n`
}

interface Field {
  type?: string | string[]
  description?: string
  /** Of a field that may be null. */
  anyOf?: { type?: string | string[] }[]
}
const isNumber = (type = '') => type === 'integer' || type === 'number'

const reportText = (name: ReportName): string => {
  const { properties = {} } = z.toJSONSchema(reports[name].row, { io: 'output' })
  const columns = columnsOf(name).map((column) => {
    const field = (properties as Record<string, Field>)[column]
    const isNumeric =
      /^d\d/.test(column) || [field, ...(field?.anyOf ?? [])].some((one) => [one?.type].flat().some(isNumber))
    return { name: column, description: field?.description ?? '', numeric: isNumeric }
  })
  const { summary, description } = reports[name]
  const filters = Object.keys(filtersOf(name))
  return `  ${name}: ${json({ summary, description, filters, columns })},\n`
}

/** The meaning of each error, by its row in docs/errors.md. */
async function errorsText(): Promise<string> {
  const page = await readFile(join(root, 'docs', 'errors.md'), 'utf8')
  const codes = new Set<string>(errorCatalogue.map(({ code }) => code))
  const rows = page.matchAll(/^\| `(\w+)` *\|[^|]*\|[^|]*\| *(.*?) *\|$/gm)
  const meanings = Object.fromEntries(
    [...rows].flatMap(([, code = '', meaning = '']) =>
      codes.has(code) ? [[code, meaning.replaceAll('`', '').replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')]] : [],
    ),
  )
  return `${head}export const errorMeanings: Record<string, string> = ${json(meanings)}\n`
}

/** Writes what the panel knows of the declared routes; with `--check` it only says when that is out of date, and exits with 1. */
async function main(): Promise<void> {
  const { values } = parseArgs({ options: { check: { type: 'boolean', default: false } } })
  const texts = {
    'routes.ts': routesText(),
    'limits.ts': limitsText(),
    'reports.ts': `${head}export const declaredReports = {\n${reportNames.map(reportText).join('')}} as const\n`,
    'errors.ts': await errorsText(),
  }
  for (const [name, text] of Object.entries(texts)) {
    const file = join(folder, name)
    if (!values.check) await writeFile(file, text)
    else if ((await readFile(file, 'utf8').catch(() => '')) !== text) {
      console.error(`${name} of the panel is not what the routes declare: run \`npm run dump\` and commit it.`)
      process.exitCode = 1
    }
  }
}

if (import.meta.main) await main()
