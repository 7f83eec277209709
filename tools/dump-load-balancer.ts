import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { healthRoutes } from '@tributary/contracts/health'
import { isAdminAuth, type Routes } from '@tributary/contracts/route'
import { routesOfServices } from '@tributary/standalone/declared-routes'

const file = join(import.meta.dirname, '..', 'infra', 'haproxy', 'haproxy.cfg')

/** Those of routes that people and the admin token call, or the others. */
const ofAdmin = (routes: Routes, wanted: boolean): Routes =>
  Object.fromEntries(Object.entries(routes).filter(([, { auth }]) => isAdminAuth(auth) === wanted))
const ofReports: Routes = routesOfServices['report-api']

/**
 * The routes behind each list of the load balancer. Operators reach the admin API by its prefix, on their own port; what another service
 * than admin-api answers of it has a list.
 */
const lists: Record<string, Routes> = {
  to_gateway: { ...routesOfServices['ingest-gateway'], ...healthRoutes },
  to_links: routesOfServices['link-gateway'],
  to_postbacks: routesOfServices['postback-gateway'],
  to_reports: ofAdmin(ofReports, false),
  to_rows: ofAdmin(ofReports, true),
}

/** The lines of a list: exact paths, then patterns in which a parameter is one segment. */
function listLines(name: string, routes: Routes): string {
  const open = Object.values(routes).filter(({ inside }) => !inside)
  const paths = [...new Set(open.map(({ path, served_at = path }) => served_at))]
  const exact = paths.filter((path) => !path.includes(':'))
  const patterns = paths
    .filter((path) => path.includes(':'))
    .map((path) => `^${path.replaceAll('.', '\\.').replaceAll(/:\w+/g, '[^/]+')}$`)
  return [
    ...(exact.length > 0 ? [`  acl ${name} path,url_dec -m str ${exact.join(' ')}\n`] : []),
    ...(patterns.length > 0 ? [`  acl ${name} path,url_dec -m reg ${patterns.join(' ')}\n`] : []),
  ].join('')
}

/** infra/haproxy/haproxy.cfg with the lists of public routes as the services declare them. */
async function configText(): Promise<string> {
  let text = await readFile(file, 'utf8')
  for (const [name, routes] of Object.entries(lists)) {
    const lines = new RegExp(`(?:^  acl ${name} .*\n)+`, 'gm')
    if (!lines.test(text)) throw new Error(`infra/haproxy/haproxy.cfg has no list ${name} to fill`)
    text = text.replaceAll(lines, () => listLines(name, routes))
  }
  return text
}

/** Writes the lists of haproxy.cfg; with `--check` it only says when they are out of date, and exits with 1. */
async function main(): Promise<void> {
  const { values } = parseArgs({ options: { check: { type: 'boolean', default: false } } })
  const text = await configText()
  if (!values.check) await writeFile(file, text)
  else if ((await readFile(file, 'utf8')) !== text) {
    console.error('infra/haproxy/haproxy.cfg lacks what the services declare: run `npm run dump` and commit it.')
    process.exitCode = 1
  }
}

if (import.meta.main) await main()
