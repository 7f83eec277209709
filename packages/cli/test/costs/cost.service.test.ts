import { utimes } from 'node:fs/promises'
import { columnsOf } from '@tributary/contracts/reports'
import { judgeCosts } from '@tributary/domain/costs/judge-costs'
import { describe, expect, it, onTestFinished } from 'vitest'
import { answerOf, key, rejectedBeside } from '../bulk-service.ts'
import { type Received, type Reply, startService } from '../fake-service.ts'
import { fileWith, tributary } from '../run-tributary.ts'

/** A service that judges costs as the real one does, and answers a report of `stored`. */
async function costService(
  stored: string[] = [],
  before: (request: Received) => Promise<Reply | null> | Reply | null = () => null,
) {
  const uploads: { as_of_ms: number; costs: Record<string, unknown>[] }[] = []
  const paths: string[] = []
  const service = await startService(async (request) => {
    paths.push(`${request.method} ${request.path}`)
    const early = await before(request)
    if (early !== null) return early
    if (request.method === 'PUT') {
      const upload = JSON.parse(request.body.toString())
      uploads.push(upload)
      return { status: 200, body: judgeCosts(upload.costs, Date.now()).answer }
    }
    const lines = [columnsOf('costs').join(','), ...stored].map((line) => `${line}\r\n`)
    return { status: 200, text: lines.join(''), headers: { 'content-type': 'text/csv' } }
  })
  onTestFinished(() => service.close())
  return { uploads, paths, env: { TRIBUTARY_URL: service.url } }
}

const csv = (...lines: string[]) => lines.map((line) => `${line}\n`).join('')
const load = (env: Record<string, string>, path: string, ...more: string[]) =>
  tributary(['cost', 'load', '--key', key, '--json', path, ...more], env)

describe('tributary cost load', () => {
  it('uploads a CSV file as of its time, 1000 costs at once, and says what was rejected', async () => {
    const { uploads, paths, env } = await costService()
    const rows = Array.from({ length: 1500 }, (_, n) => `2026-06-01,Acme,c${n},1.5,note`)
    const path = await fileWith(
      'a.csv',
      csv('date,partner,campaign,spend,note', ...rows, '2026-06-01,acme,x,much,', 'short'),
    )
    await utimes(path, 1_780_000_000, 1_780_000_000.123)
    const run = await load(
      env,
      path,
      '--map',
      'date=day',
      '--map',
      'spend=cost',
      '--map',
      'note=',
      '--set',
      'currency=EUR',
    )
    expect(run).toMatchObject({ code: 0, stderr: '' })
    expect(answerOf(run)).toEqual({ accepted: 1500, rejected: 2, seconds: expect.any(Number) })
    expect(uploads.map(({ as_of_ms, costs }) => [as_of_ms, costs.length]).sort()).toEqual([
      [1_780_000_000_123, 1000],
      [1_780_000_000_123, 501],
    ])
    expect(new Set(paths)).toEqual(new Set(['PUT /api/v1/costs']))
    expect(uploads.flatMap(({ costs }) => costs)).toContainEqual({
      ...{ currency: 'EUR', day: '2026-06-01', partner: 'Acme', campaign: 'c7', cost: 1.5 },
    })
    expect(await rejectedBeside(path)).toEqual([
      {
        ...{ line: 1502, reason: 'bad_cost', field: 'cost', text: '2026-06-01,acme,x,much,' },
        message: expect.stringContaining('number'),
      },
      { line: 1503, reason: 'bad_csv', field: null, message: null, text: 'short' },
    ])
  })

  it('takes JSON lines, and stops before it sends a column that no cost has', async () => {
    const { uploads, env } = await costService()
    const line = { day: '2026-06-01', partner: 'a', cost: 1, country: '' }
    const path = await fileWith('a.jsonl', csv(JSON.stringify(line), 'no json', '', '[1]'))
    expect(answerOf(await load(env, path, '--set', 'currency=USD'))).toMatchObject({ accepted: 1, rejected: 2 })
    expect(uploads).toMatchObject([{ costs: [{ ...line, currency: 'USD' }] }])
    const wrong = await load(env, await fileWith('b.csv', csv('day,partner,spend', '2026-06-01,a,1')))
    expect([wrong.code, JSON.parse(wrong.stderr).error, uploads.length]).toEqual([2, 'unknown_field', 1])
  })

  it('sends a key that comes again only when its earlier line is stored', async () => {
    const open = new Set<string>()
    const overlaps: string[] = []
    const { env } = await costService([], async ({ body }) => {
      const { costs } = JSON.parse(body.toString())
      const same = costs.some(({ campaign }: { campaign: string }) => campaign === 'same')
      if (same && open.has('same')) overlaps.push('same')
      if (same) open.add('same')
      await new Promise((resolve) => setTimeout(resolve, 30))
      if (same) open.delete('same')
      return null
    })
    const rows = Array.from({ length: 4000 }, (_, n) => `2026-06-01,a,${n % 1000 === 0 ? 'same' : `c${n}`},1,USD`)
    const run = await load(env, await fileWith('a.csv', csv('day,partner,campaign,cost,currency', ...rows)))
    expect([answerOf(run).accepted, overlaps]).toEqual([4000, []])
  })

  it('fails when all are rejected or the key lacks the scope', async () => {
    const { env } = await costService()
    const path = await fileWith('a.csv', csv('day,partner,cost,currency', '2026-06-01,organic,1,USD'))
    const run = await load(env, path)
    expect([run.code, JSON.parse(run.stderr).error]).toEqual([1, 'all_rejected'])
    const refusing = await costService([], () => ({ status: 403, body: { error: 'scope_missing' } }))
    expect(JSON.parse((await load(refusing.env, path)).stderr).error).toBe('scope_missing')
  })

  it('--dry-run says what is new, changed, equal and rejected, and sends nothing', async () => {
    const stored = [
      `2026-06-01,a,'=equal,"g,1",DE,1.000001,EUR,1.1,,3,1`,
      '2026-06-01,a,changed,,,1,EUR,1.1,,,1',
      '2026-06-01,a,money,,,1,USD,1,,,1',
      '2026-06-01,a,other,,,1,USD,1,,,1',
    ]
    const { uploads, paths, env } = await costService(stored)
    const header = 'day,partner,campaign,ad_group,country,cost,currency,impressions'
    const rows = [
      '2026-06-01,A,=equal,"g,1",de,1.000001,eur,3',
      '2026-06-01,a,changed,,,1,EUR,',
      '2026-06-01,a,changed,,,2,EUR,', // the last line of a key counts
      '2026-06-01,a,money,,,1,EUR,',
      '2026-06-01,a,new,,,1,EUR,',
      '2027-07-02,a,never,,,0,EUR,',
      '2026-06-03,a,gone,,,0,EUR,', // nothing is there to take out
      'x,a,,,,1,EUR,',
    ]
    const run = await load(env, await fileWith('a.csv', csv(header, ...rows)), '--dry-run')
    expect(answerOf(run)).toEqual({ new: 1, changed: 2, equal: 2, rejected: 2 })
    expect(uploads).toEqual([])
    expect(paths).toEqual([expect.stringMatching(/^GET \/api\/v1\/reports\/costs\?.*since_ms=1780272000000/)])
  })
})

it('tributary cost list prints the rows of the report', async () => {
  const row = { day: '2026-06-01', partner: 'a', cost: 1, currency: 'EUR' }
  const { paths, env } = await costService([], () => ({
    status: 200,
    body: { rows: [row], meta: { since_ms: 1, until_ms: 2, limit: 100, offset: 0 } },
  }))
  const run = await tributary(['cost', 'list', '--key', key, '--since', '2026-06-01', '--json'], env)
  expect([answerOf(run), paths.length]).toEqual([{ rows: [row] }, 1])
  const shown = await tributary(['cost', 'list', '--key', key], env)
  expect(shown.stdout).toContain('2026-06-01\ta')
})
