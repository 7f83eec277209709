import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'

export const root = join(import.meta.dirname, '..', '..', '..')
export const read = (file: string) => readFileSync(join(root, file), 'utf8')

export interface Alert {
  alert: string
  expr: string
  for?: string
  labels: { severity: string }
  annotations: { summary: string; description: string; runbook_url: string }
}

/** The rules of infra/prometheus/alerts.yml. */
export const alerts = (parse(read('infra/prometheus/alerts.yml')) as { groups: { rules: Alert[] }[] }).groups.flatMap(
  ({ rules }) => rules,
)

/** Labels of each metric that docs/metrics.md lists. */
export const documented = new Map(
  [...read('docs/metrics.md').matchAll(/^\| `(tributary_\w+)` *\|([^|]*)\|/gm)].map(([, name = '', labels = '']) => [
    name,
    [...labels.matchAll(/`(\w+)`/g)].map(([, label = '']) => label),
  ]),
)

/** Metrics of others: of Prometheus, of Node's client, and of HAProxy. */
const others: Record<string, string[]> = {
  up: [],
  haproxy_backend_active_servers: ['proxy'],
  process_cpu_seconds_total: [],
  process_resident_memory_bytes: [],
  nodejs_eventloop_lag_p99_seconds: [],
}
export const known = new Map<string, string[]>([...Object.entries(others), ...documented])

/** Labels that Prometheus adds to each series by where it found it (infra/prometheus/prometheus.yml). */
const ofTarget = ['instance', 'job', 'service']
const ofHistogram = /_(bucket|sum|count)$/

/** What a query names that does not exist: metrics, and labels of them. Empty when all of it exists. */
export function unknownNames(expr: string): string[] {
  const unknown: string[] = []
  const labels = new Set([...ofTarget, 'le'])
  const withoutTexts = expr.replaceAll(/"[^"]*"/g, '""')
  for (const [, name = '', , matchers = ''] of withoutTexts.matchAll(
    /\b((tributary|haproxy|process|nodejs)_\w+|up)\b(\{[^}]*\})?/g,
  )) {
    const own = known.get(name) ?? known.get(name.replace(ofHistogram, ''))
    if (own === undefined) unknown.push(name)
    for (const label of own ?? []) labels.add(label)
    const matched = [...matchers.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g)].map(([, label = '']) => label)
    unknown.push(...matched.filter((label) => !ofTarget.includes(label) && !own?.includes(label)))
  }
  const grouped = [...withoutTexts.matchAll(/\b(?:by|on) ?\(([^)]*)\)/g)].flatMap(([, list = '']) => list.split(/,\s*/))
  unknown.push(...grouped.filter((label) => !labels.has(label)))
  return unknown
}
