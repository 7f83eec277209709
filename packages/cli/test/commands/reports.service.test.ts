import { reports } from '@tributary/contracts/reports'
import { describe, expect, it } from 'vitest'
import { fileWith, tributary } from '../run-tributary.ts'
import { service } from './fake-admin-api.ts'

describe('tributary reports events', () => {
  it('requests the window in Unix ms with its key and prints the report', async () => {
    const report = {
      rows: [{ day: '2013-01-01', event_name: 'departure', events: 3, unique_installs: 2, revenue_usd: 14.5 }],
      meta: {
        since_ms: 1356998400000,
        until_ms: 1359676800000,
        limit: 10,
        offset: 0,
        rows: 1,
        more: false,
        elapsed_ms: 3,
      },
    }
    const path = '/api/v1/reports/events?since_ms=1356998400000&until_ms=1359676800000&limit=10'
    const env = await service({
      [`GET ${path}`]: ({ headers }) =>
        headers.authorization === 'Bearer srv_1' ? { status: 200, body: report } : { status: 401, body: {} },
    })
    const words = 'reports events --key srv_1 --since 2013-01-01 --until 1359676800000 --limit 10'.split(' ')
    const json = await tributary([...words, '--json'], env)
    expect(JSON.parse(json.stdout)).toEqual(report)
    const hidden = words.filter((word) => word !== '--key' && word !== 'srv_1')
    const file = await fileWith('key', 'srv_1\n')
    const ways = [
      tributary([...hidden, '--key-file', file, '--json'], env),
      tributary([...hidden, '--key', '-', '--json'], env, 'srv_1\n'),
      tributary([...hidden, '--key-file', '-', '--json'], env, 'srv_1\n'),
      tributary([...hidden, '--json'], { ...env, TRIBUTARY_SERVER_KEY: 'srv_1' }),
    ]
    for (const { stdout } of await Promise.all(ways)) expect(JSON.parse(stdout)).toEqual(report)
    const none = await tributary([...hidden, '--json'], env)
    expect([none.code, JSON.parse(none.stderr).error]).toEqual([2, 'usage'])
    const zoneless = await tributary([...words, '--since', '2013-01-01T10:00', '--json'], env)
    expect([zoneless.code, zoneless.stderr]).toEqual([
      2,
      expect.stringContaining('The time has no zone: add Z for UTC'),
    ])
    const text = await tributary(words, env)
    expect(text.stdout).toBe(
      'day\tevent_name\tevents\tunique_installs\trevenue_usd\n2013-01-01\tdeparture\t3\t2\t14.5\n',
    )
    expect(text.stderr).toBe('')
  })

  it('says in words that a window is reversed', async () => {
    const env = await service({
      'GET /api/v1/reports/events?since_ms=2&until_ms=1': () => ({
        status: 400,
        body: { error: 'since_ms_must_be_less_than_until_ms' },
      }),
    })
    const window = ['--since', '1970-01-01T00:00:00.002Z', '--until', '1970-01-01T00:00:00.001Z']
    const { code, stderr } = await tributary(['reports', 'events', '--key', 'srv_1', ...window], env)
    const words = 'The window is empty: --since has to be before --until.'
    expect([code, stderr]).toEqual([1, `since_ms_must_be_less_than_until_ms: ${words}\n`])
  })

  it('filters by event name, and warns on stderr of money without a rate and of more rows', async () => {
    const row = { day: '2013-01-01', event_name: 'a b', events: 3, unique_installs: 2, revenue_usd: 0 }
    const meta = {
      ...{ since_ms: 1, until_ms: 2, limit: 1, offset: 4, rows: 412, more: true, elapsed_ms: 3 },
      ...{ missing_rates: ['EUR', 'GBP'], hint: 'Seconds?' },
    }
    const env = await service({
      'GET /api/v1/reports/events?limit=1&event_name=a+b&event_name=c': () => ({
        status: 200,
        body: { rows: [row], meta },
      }),
    })
    const words = ['reports', 'events', '--key', 'srv_1', '--limit', '1', '--event-name', 'a b', '--event-name', 'c']
    for (const more of [[], ['--json']]) {
      const run = await tributary([...words, ...more], env)
      expect(run.code).toBe(0)
      expect(run.stdout.trim().split('\n')).toHaveLength(more.length === 0 ? 2 : 1)
      expect(run.stderr).toMatch(/^Warning: .* EUR, GBP: .*fx load/)
      const tail = 'Warning: Seconds?\n1 of 412 rows: --all shows all, --offset 5 the next\n'
      expect(run.stderr.endsWith(tail)).toBe(more.length === 0)
    }
  })

  it.each([
    ['attribution', ['--partner', 'acme', '--partner', 'zen', '--attribution-type', 'device_id']],
    ['revenue', ['--partner', 'acme']],
    ['cohorts', []],
  ] as const)('prints the report %s with all columns, and passes its filters on', async (name, filters) => {
    const { example, row } = reports[name]
    const meta = { since_ms: 1, until_ms: 2, limit: 100, offset: 0, rows: 1, more: false, elapsed_ms: 3 }
    const query = filters.map((word) => word.replace(/^--/, '').replace('-', '_'))
    const pairs = query.flatMap((word, n) => (n % 2 === 0 ? [`${word}=${query[n + 1]}`] : []))
    const env = await service({
      [`GET /api/v1/reports/${name}?${pairs.join('&')}`]: () => ({ status: 200, body: { rows: [example], meta } }),
    })
    const run = await tributary(['reports', name, '--key', 'srv_1', ...filters], env)
    const columns = Object.keys(row.shape)
    const cells = columns.map((column) => Object(example)[column])
    expect(run.stdout).toBe(`${columns.join('\t')}\n${cells.join('\t')}\n`)
  })

  it('takes a filter by the name of its field, and refuses one that the report lacks', async () => {
    const meta = { since_ms: 1, until_ms: 2, limit: 100, offset: 0, rows: 0, more: false, elapsed_ms: 3 }
    const env = await service({
      'GET /api/v1/reports/revenue?partner=a&partner=b%3Dc': () => ({ status: 200, body: { rows: [], meta } }),
    })
    const words = ['reports', 'revenue', '--key', 'srv_1']
    const run = await tributary([...words, '--filter', 'partner=b=c', '--partner', 'a'], env)
    expect(run).toMatchObject({ code: 0, stderr: '' })
    for (const filter of ['day=1', 'partner', '=a'])
      expect((await tributary([...words, '--filter', filter], env)).code).toBe(2)
  })

  it('reads all pages without --limit, as one table and one document', async () => {
    const all = Array.from({ length: 1250 }, (_, n) => ({
      ...{ day: n < 700 ? '2026-06-01' : '2026-06-02', event_name: `e${String(n).padStart(4, '0')}` },
      ...{ events: n, unique_installs: 1, revenue_usd: 0 },
    }))
    const asked: string[] = []
    const page = ({ path }: { path: string }) => {
      const query = new URL(path, 'http://x').searchParams
      const [offset, limit] = [Number(query.get('offset') ?? 0), Number(query.get('limit') ?? 100)]
      asked.push(query.toString())
      const more = offset + limit < all.length
      const meta = { since_ms: 1, until_ms: 2, limit, offset, rows: 1250, more, elapsed_ms: 3, missing_rates: ['EUR'] }
      return { status: 200, body: { rows: all.slice(offset, offset + limit), meta } }
    }
    const window = 'since_ms=1&until_ms=2'
    const env = await service({
      'GET /api/v1/reports/events?group=week': page,
      [`GET /api/v1/reports/events?${window}&limit=1000&offset=100&group=week`]: page,
      [`GET /api/v1/reports/events?${window}&limit=1000&offset=1100&group=week`]: page,
    })
    const words = ['reports', 'events', '--key', 'k', '--group', 'week']
    const json = await tributary([...words, '--json'], env)
    expect(JSON.parse(json.stdout)).toMatchObject({
      rows: all,
      meta: { offset: 0, limit: 1250, rows: 1250, more: false },
    })
    expect(asked).toHaveLength(3)
    const text = await tributary([...words, '--limit', '7', '--all'], env)
    expect(text.stdout.trim().split('\n').slice(1)).toEqual(all.map((row) => Object.values(row).join('\t')))
    expect(text.stderr).toMatch(/^Warning: .* EUR: .*\n$/)
  })

  it('prints the CSV of the service as it is, and fails when that breaks off', async () => {
    const file = 'day,installs\r\n2026-06-01,"4"\r\n'
    const path = 'GET /api/v1/reports/cohorts?offset=5&format=csv&days=0%2C3'
    const words = ['reports', 'cohorts', '--key', 'k', '--days', '0,3', '--offset', '5', '--csv']
    const env = await service({ [path]: () => ({ status: 200, text: file, headers: { 'x-missing-rates': 'EUR' } }) })
    const whole = await tributary(words, env)
    expect([whole.code, whole.stdout]).toEqual([0, file])
    expect(whole.stderr).toMatch(/^Warning: .* EUR: /)
    const cut = await service({ [path]: () => ({ status: 200, text: file, broken_off: true }) })
    const broken = await tributary(words, cut)
    expect([broken.code, broken.stdout]).toEqual([1, file])
    expect(broken.stderr).toMatch(/^unavailable: .*incomplete/)
    const both = await tributary([...words, '--json'], env)
    expect([both.code, both.stdout, JSON.parse(both.stderr).error]).toEqual([2, '', 'usage'])
    const wrong = await tributary(['reports', 'cohorts', '--key', 'k', '--days', '0,x'], env)
    expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringMatching(/--days/)])
  })

  it('says in its help which days a report has without --days, and where its columns are told', async () => {
    const helpOf = async (name: string) => (await tributary(['reports', name, '--help'])).stdout.replaceAll(/\s+/g, ' ')
    const [cohorts, ltv, skan] = await Promise.all(['cohorts', 'ltv', 'skan'].map(helpOf))
    expect(cohorts).toContain('(always also 1, 7, 30)')
    expect(cohorts).toContain('not on the Nth calendar day')
    expect(ltv).toContain('(default: 0, 7, 30)')
    expect(skan).toContain('docs/skan.md#read-the-report')
  })

  it('names the parameter that the service does not know', async () => {
    const message = 'Parameters of this report: since_ms.'
    const body = { error: 'unknown_parameter', field: 'event_name', message }
    const env = await service({
      'GET /api/v1/reports/events?event_name=x': () => ({ status: 400, body }),
    })
    const run = await tributary(['reports', 'events', '--key', 'k', '--event-name', 'x', '--json'], env)
    expect(run).toMatchObject({ code: 1, stdout: '' })
    expect(JSON.parse(run.stderr)).toEqual({ error: 'unknown_parameter', message: `${message} (--event-name)` })
  })
})
