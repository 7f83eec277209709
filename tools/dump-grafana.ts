import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { type Dashboard, dashboards, type Panel } from '../infra/grafana/dashboards.ts'

const folder = join(import.meta.dirname, '..', 'infra', 'grafana')
/** Two panels stand in a row of 24 columns. */
const panel_width = 12
const panel_height = 8
const datasource = { type: 'prometheus', uid: '$datasource' }

const panelOf = ({ title, meaning, unit, kind = 'timeseries', queries }: Panel, index: number) => ({
  ...{ id: index + 1, type: kind, title, description: meaning, datasource },
  gridPos: {
    h: panel_height,
    w: panel_width,
    x: (index % 2) * panel_width,
    y: Math.floor(index / 2) * panel_height,
  },
  fieldConfig: { defaults: { unit, min: 0 }, overrides: [] },
  options: kind === 'stat' ? { reduceOptions: { calcs: ['lastNotNull'] } } : { legend: { displayMode: 'list' } },
  targets: queries.map(([expr, legendFormat], at) => ({
    ...{ refId: String.fromCharCode(65 + at), datasource, expr, legendFormat },
  })),
})

/** A dashboard as Grafana imports it. Its source of data is chosen on the page. */
const modelOf = ({ title, uid, panels }: Dashboard) => ({
  ...{ uid, title, tags: ['tributary'], timezone: 'utc', schemaVersion: 39, version: 1, editable: false },
  ...{ refresh: '30s', time: { from: 'now-6h', to: 'now' } },
  templating: { list: [{ name: 'datasource', type: 'datasource', query: 'prometheus', label: 'Prometheus' }] },
  panels: panels.map(panelOf),
})

/** Writes infra/grafana/*.json; with `--check` it only says when one is out of date, and exits with 1. */
async function main(): Promise<void> {
  const { values } = parseArgs({ options: { check: { type: 'boolean', default: false } } })
  for (const dashboard of dashboards) {
    const file = join(folder, `${dashboard.uid}.json`)
    const text = `${JSON.stringify(modelOf(dashboard), null, 2)}\n`
    if (!values.check) await writeFile(file, text)
    else if ((await readFile(file, 'utf8').catch(() => '')) !== text) {
      console.error(`infra/grafana/${dashboard.uid}.json is out of date: run \`npm run dump\` and commit it.`)
      process.exitCode = 1
    }
  }
}

if (import.meta.main) await main()
