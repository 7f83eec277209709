import { posix } from 'node:path'

/** A page of the site, and the file of the repository that it shows. */
export interface Page {
  /** Below `/docs`; empty for the guide. */
  path: string
  title: string
  file: string
}

/** Pages by the groups of the navigation. The reference has one page for each tag of the API beside them. */
export const groups: readonly { name: string; pages: readonly Page[] }[] = [
  {
    name: 'Guide',
    pages: [
      { path: '', title: 'Send events, read reports', file: 'docs/api.md' },
      { path: 'attribution', title: 'Attribution', file: 'docs/attribution.md' },
      { path: 'links', title: 'Tracking links', file: 'docs/links.md' },
      { path: 'reports', title: 'Which report', file: 'docs/reports.md' },
      { path: 'raw', title: 'Raw data', file: 'docs/raw.md' },
      { path: 'postbacks', title: 'Postbacks to partners', file: 'docs/postbacks.md' },
      { path: 'skan', title: 'SKAdNetwork', file: 'docs/skan.md' },
      { path: 'receipts', title: 'Receipts of the stores', file: 'docs/receipts.md' },
      { path: 'privacy', title: 'Privacy', file: 'docs/privacy.md' },
      { path: 'client', title: 'TypeScript client', file: 'packages/client/README.md' },
    ],
  },
  {
    name: 'Rules',
    pages: [
      { path: 'rules', title: 'Every rule', file: 'docs/rules.md' },
      { path: 'errors', title: 'Errors', file: 'docs/errors.md' },
    ],
  },
  {
    name: 'Examples',
    pages: [
      { path: 'examples/signing', title: 'Sign a batch', file: 'docs/examples/signing' },
      { path: 'examples/attribution', title: 'From a link to the report', file: 'examples/attribution/README.md' },
      { path: 'examples/flights', title: 'A year of history', file: 'examples/flights/README.md' },
      { path: 'examples/raw', title: 'DuckDB and pandas', file: 'examples/raw/README.md' },
      { path: 'examples/cv-schema', title: 'A conversion value schema', file: 'examples/cv-schema/README.md' },
      { path: 'examples/postbacks', title: 'Sample postbacks', file: 'examples/postbacks/README.md' },
      { path: 'examples/purchase-alerts', title: 'A consumer', file: 'examples/purchase-alerts/README.md' },
      { path: 'examples/read-records', title: 'Read the log', file: 'examples/read-records/README.md' },
    ],
  },
  {
    name: 'Operate',
    pages: [
      { path: 'operations', title: 'Operations', file: 'docs/operations.md' },
      { path: 'backup', title: 'Backup and upgrade', file: 'docs/backup.md' },
      { path: 'settings', title: 'Settings', file: 'docs/settings.md' },
      { path: 'panel', title: 'Panel', file: 'docs/panel.md' },
      { path: 'people', title: 'People', file: 'docs/people.md' },
      { path: 'roles', title: 'Roles and routes', file: 'docs/roles.md' },
      { path: 'security', title: 'Security', file: 'docs/security.md' },
      { path: 'metrics', title: 'Metrics', file: 'docs/metrics.md' },
      { path: 'clocks', title: 'Clocks', file: 'docs/clocks.md' },
      { path: 'consumers', title: 'Consumers', file: 'docs/consumers.md' },
      { path: 'data', title: 'Tables', file: 'docs/data.md' },
      { path: 'performance', title: 'Performance', file: 'docs/performance.md' },
    ],
  },
  {
    name: 'Decisions',
    pages: [
      ...['door', 'log', 'writing', 'attribution', 'postbacks', 'money', 'reports', 'erasure', 'secrets', 'running'],
    ].map((chapter) => ({
      path: `decisions/${chapter}`,
      title: `${chapter[0]!.toUpperCase()}${chapter.slice(1)}`,
      file: `docs/decisions/${chapter}.md`,
    })),
  },
]

/** The programs of docs/examples/signing, in the order in which they are shown. */
export const signing: readonly { file: string; lang: string; label: string }[] = [
  { file: 'event.sh', lang: 'shell', label: 'curl' },
  { file: 'event.ts', lang: 'typescript', label: 'TypeScript' },
  { file: 'event.py', lang: 'python', label: 'Python' },
  { file: 'event.go', lang: 'go', label: 'Go' },
  { file: 'Event.kt', lang: 'kotlin', label: 'Kotlin' },
  { file: 'event.swift', lang: 'swift', label: 'Swift' },
  { file: 'Event.cs', lang: 'csharp', label: 'C#' },
]

const topics = ['clicks.recorded', 'erasures.requested', 'events.accepted', 'installs.attributed', 'installs.found']

/** Files that are served as they are, by their path below `/docs`. */
export const rawFiles: ReadonlyMap<string, string> = new Map([
  ['openapi.json', 'docs/openapi.json'],
  ...[...topics, 'postbacks.received', 'stores.notified'].map((topic): [string, string] => [
    `schemas/${topic}.v1.json`,
    `docs/schemas/${topic}.v1.json`,
  ]),
  ['examples/cv-schema/puzzle-game.json', 'examples/cv-schema/puzzle-game.json'],
  ...['campaigns/costs.csv', 'campaigns/events.jsonl', 'raw/report.py', 'raw/report.sql'].map(
    (name): [string, string] => [`examples/${name}`, `examples/${name}`],
  ),
  ['examples/purchase-alerts/purchase-alerts.ts', 'examples/purchase-alerts/purchase-alerts.ts'],
  ...['read-records.ts', 'read_records.go', 'read_records.py', 'sample.jsonl'].map((name): [string, string] => [
    `examples/read-records/${name}`,
    `examples/read-records/${name}`,
  ]),
])

export const pages: readonly Page[] = groups.flatMap((group) => group.pages)

const addresses = new Map([
  ...pages.flatMap(({ path, file }): [string, string][] => [
    [file, path],
    [file.replace(/\/README\.md$/, ''), path],
  ]),
  ...[...rawFiles].map(([path, file]): [string, string] => [file, path]),
])

/** Where a link of a file leads on the site: an address, null for what the site does not have. */
export function addressOf(file: string, href: string): string | null {
  if (/^(https?:|#)/.test(href)) return href
  const [path = '', hash] = href.split('#')
  const found = addresses.get(posix.join(posix.dirname(file), path).replace(/\/$/, ''))
  if (found === undefined) return null
  return `/docs${found === '' ? '' : `/${found}`}${hash === undefined ? '' : `#${hash}`}`
}
