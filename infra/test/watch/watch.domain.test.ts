import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { declaredProcesses } from '@tributary/testing/declared-services'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { dashboards } from '../../grafana/dashboards.ts'
import { envExample, parseEnv, readCompose } from '../compose-file.ts'
import { alerts, documented, read, root, unknownNames } from './watch-files.ts'

it('finds metrics and labels that do not exist', () => {
  expect(unknownNames('sum by (consumer) (rate(tributary_consumer_dead_total{reason="x"}[5m])) > 0')).toEqual([])
  expect(unknownNames('tributary_consumer_deadly_total')).toEqual(['tributary_consumer_deadly_total'])
  expect(unknownNames('tributary_consumer_dead_total{cause="x"}')).toEqual(['cause'])
  expect(unknownNames('sum by (route) (tributary_consumer_dead_total)')).toEqual(['route'])
  expect(documented.size).toBeGreaterThan(80)
})

describe.each(alerts)('the alert $alert', ({ expr, labels, annotations }) => {
  it('reads metrics that exist, by labels that they have', () => {
    expect(unknownNames(expr)).toEqual([])
  })
  it('says how urgent it is, what it is, and which runbook ends it', () => {
    expect(['critical', 'warning', 'info']).toContain(labels.severity)
    expect(annotations.summary).not.toMatch(/\.$/)
    expect(annotations.description).toMatch(/\.$/)
    expect(() => read(annotations.runbook_url), annotations.runbook_url).not.toThrow()
  })
  it('shows only labels that its result has', () => {
    const shown = [...JSON.stringify(annotations).matchAll(/\$labels\.(\w+)/g)].map(([, label = '']) => label)
    const kept = /by \(([^)]*)\)/.exec(expr)?.[1]?.split(/,\s*/) ?? ['instance', 'service', 'job']
    expect(kept).toEqual(expect.arrayContaining(shown))
  })
})

it('has one rule of each name', () => {
  expect(new Set(alerts.map(({ alert }) => alert)).size).toBe(alerts.length)
})

it('scrapes each service that there is, and leaves the label job to the jobs of ours', () => {
  const { scrape_configs } = parse(read('infra/prometheus/prometheus.yml'))
  const [ours] = scrape_configs
  expect(ours).toMatchObject({ job_name: 'tributary', honor_labels: true })
  return expect(declaredProcesses().then((all) => all.map(({ name }) => name))).resolves.toEqual(
    [...ours.dns_sd_configs[0].names].sort(),
  )
})

describe.each(dashboards)('the dashboard $title', ({ uid, panels }) => {
  it.each(panels)('$title: reads metrics that exist, by labels that they have', ({ queries }) => {
    for (const [expr, legend] of queries) {
      expect(unknownNames(expr), expr).toEqual([])
      const shown = [...legend.matchAll(/\{\{(\w+)\}\}/g)].map(([, label = '']) => label)
      const kept = /by \(([^)]*)\)/.exec(expr)?.[1]?.split(/,\s*/) ?? []
      expect(kept, expr).toEqual(expect.arrayContaining(shown))
    }
  })
  it('has a file for Grafana', () => {
    expect(readdirSync(join(root, 'infra', 'grafana'))).toContain(`${uid}.json`)
  })
})

describe('docker-compose.yml with the profile watch', () => {
  const variables = Object.keys(parseEnv(envExample)).map((name) => [name, 'some'])
  const { prometheus, grafana, jaeger, ...others } = readCompose(Object.fromEntries(variables))

  it('runs Prometheus, Grafana and Jaeger, and without the profile none of them', () => {
    for (const one of [prometheus, grafana, jaeger]) expect(one).toMatchObject({ profiles: ['watch'], read_only: true })
    expect(Object.values(others).filter(({ profiles }) => profiles !== undefined)).toEqual([])
  })
  it('publishes them on the loopback address alone, since nobody signs in', () => {
    for (const port of [prometheus?.ports, grafana?.ports, jaeger?.ports].flat()) expect(port).toMatch(/^127\.0\.0\.1:/)
    expect(grafana?.environment).toMatchObject({ GF_AUTH_ANONYMOUS_ORG_ROLE: 'Viewer', GF_AUTH_BASIC_ENABLED: 'false' })
  })
  it('gives them the files of the repository', () => {
    expect(prometheus?.volumes).toContain('./infra/prometheus:/etc/prometheus:ro')
    const { rule_files } = parse(read('infra/prometheus/prometheus.yml'))
    for (const file of rule_files) expect(() => read(file.replace('/etc/', 'infra/'))).not.toThrow()
    const [provider] = parse(read('infra/grafana/provisioning/dashboards/tributary.yml')).providers
    expect(grafana?.volumes).toContain(`./infra/grafana:${provider.options.path}:ro`)
    const [source] = parse(read('infra/grafana/provisioning/datasources/prometheus.yml')).datasources
    expect(source).toMatchObject({ type: 'prometheus', url: 'http://prometheus:9090', isDefault: true })
  })
})
