import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { WhatIf, WhatIfLine } from '@tributary/contracts/admin/rows/what-if'
import { describe, expect, it, onTestFinished } from 'vitest'
import { tributary } from '../run-tributary.ts'

const side = { campaign: null, reinstall: false, fraud_flags: [], pending: false }
const answer: WhatIf = {
  ...{ installs: 12, changed: 3 },
  partners: [
    { partner: 'organic', before: 8, after: 10, reinstalls_before: 1, reinstalls_after: 0 },
    { partner: 'adnet', before: 4, after: 2, reinstalls_before: 0, reinstalls_after: 0 },
  ],
  moves: [
    {
      ...{ from: 'adnet', to: 'organic', installs: 2 },
      example: {
        install_uuid: 'i-1',
        before: { ...side, partner: 'adnet', attribution_type: 'device_id', click_id: 'c-1', reason: null },
        after: {
          ...{ ...side, partner: 'organic', attribution_type: 'organic', click_id: null, reason: 'outside_window' },
        },
      },
    },
    {
      ...{ from: 'organic', to: 'organic', installs: 1 },
      example: {
        install_uuid: 'i-2',
        before: {
          ...side,
          partner: 'organic',
          attribution_type: 'organic',
          click_id: null,
          reason: null,
          reinstall: true,
        },
        after: { ...side, partner: 'organic', attribution_type: 'organic', click_id: null, reason: null },
      },
    },
  ],
}
const lineOf = (line: WhatIfLine) => `${JSON.stringify(line)}\n`
const lines = [
  lineOf({ kind: 'progress', decided: 0, installs: 12 }),
  lineOf({ kind: 'progress', decided: 12, installs: 12 }),
  lineOf({ kind: 'what_if', ...answer }),
]

async function service(status: number, ...chunks: string[]) {
  const asked: string[] = []
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`)
    const type = status === 200 ? 'application/x-ndjson' : 'application/json'
    response.writeHead(status, { 'content-type': type }).end(chunks.join(''))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { asked, env: { TRIBUTARY_URL: url, TRIBUTARY_ADMIN_TOKEN: 'a-token-of-the-admin-of-this-test' } }
}

const words = ['attribution', 'what-if', '--app', 'app_1', '--since', '2026-06-01', '--until', '2026-06-08']

describe('tributary attribution what-if', () => {
  it('asks for the given settings alone, and prints with --json the answer as one document', async () => {
    const { asked, env } = await service(200, ...lines)
    const all = ['--click-window-hours', '24', '--no-probabilistic', '--reinstall-days', '30', '--json']
    const run = await tributary([...words, ...all], env)
    expect([run.code, run.stderr, JSON.parse(run.stdout)]).toEqual([0, '', answer])
    await tributary([...words, '--json'], env)
    const window = `since_ms=${Date.UTC(2026, 5, 1)}&until_ms=${Date.UTC(2026, 5, 8)}`
    const path = `GET /admin/api/v1/apps/app_1/what-if?${window}`
    expect(asked).toEqual([`${path}&click_window_hours=24&probabilistic=false&reinstall_days=30`, path])
  })

  it('shows installs by partner, and explains each move by an install', async () => {
    const { env } = await service(200, ...lines)
    const run = await tributary(words, env)
    expect(run.stdout).toBe(`12 installs: 3 would have another verdict.

partner\tbefore\tafter\treinstalls before\treinstalls after
organic\t8\t10\t1\t0
adnet\t4\t2\t0\t0

2 installs from adnet to organic, such as i-1
  Before: adnet, by the device id.
  After: organic. The click of before lost: it came too long before the install for its window. A link may set a window of its own.

1 install of organic with another verdict, such as i-2
  Before: organic; a reinstall.
  After: organic.
`)
  })

  it('names the option that a refusal is about', async () => {
    const refusal = { error: 'clicks_expired', field: 'since_ms', message: 'The first day that works is 2026-07-01.' }
    const { env } = await service(400, JSON.stringify(refusal))
    const run = await tributary([...words, '--json'], env)
    const message = 'The first day that works is 2026-07-01. (--since)'
    expect([run.code, run.stdout, JSON.parse(run.stderr)]).toEqual([1, '', { error: 'clicks_expired', message }])
  })

  it.each([
    ['broke off', lines.slice(0, 2)],
    ['broke off within a line', [lines[2]!.slice(0, 20)]],
    ['gave no line', []],
  ])('fails when the answer %s', async (_how, chunks) => {
    const { env } = await service(200, ...chunks)
    const run = await tributary([...words, '--json'], env)
    expect([run.code, run.stdout, JSON.parse(run.stderr).error]).toEqual([1, '', 'unavailable'])
  })

  it.each([
    [['attribution', 'what-if', '--app', 'app_1', '--since', '7d']],
    [[...words, '--reinstall-days']],
    [[...words, '--probabilistic']],
  ])('takes no %j', async (typed) => {
    const run = await tributary(typed, {})
    expect([run.code, run.stdout]).toEqual([2, ''])
  })
})
