/** Files that programs write: what, and the program. Those on which others build come first. */
export const generated: readonly [what: string, program: string][] = [
  ['packages/postgres/schema.sql', 'packages/postgres/src/dump-schema.ts'],
  ['clickhouse/schema.sql, roles.sql and docs/data.md', 'packages/clickhouse/src/schema/dump-schema.ts'],
  ['docs/schemas', 'packages/contracts/src/dump-schemas.ts'],
  ['docs/settings.md', 'packages/service-kit/src/settings/dump-settings.ts'],
  ['docs/openapi.json', 'tools/dump-openapi.ts'],
  ['docs/roles.md', 'tools/dump-roles.ts'],
  ['infra/haproxy/haproxy.cfg', 'tools/dump-load-balancer.ts'],
  ['infra/helm/tributary/files', 'tools/dump-helm.ts'],
  ['infra/grafana/*.json', 'tools/dump-grafana.ts'],
  ['packages/client/src/report-rows.ts', 'tools/dump-client-reports.ts'],
  ['packages/panel/src/api/declared', 'tools/dump-panel.ts'],
  ['packages/client/API.md', 'packages/client/dump-api.ts'],
]
