import { FxLoaded } from '@tributary/contracts/admin/stored-data'
import { openFxRates } from '@tributary/tenancy/fx-rates'
import type { Pool } from 'pg'
import { expect, test } from 'vitest'
import { adminApiUnderTest } from '../admin-api-under-test.ts'
import { admin_token } from '../admin-app.ts'

const { inject, query } = adminApiUnderTest()

async function load(payload: string | Buffer, token = admin_token) {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'text/csv' }
  const answer = await inject('/fx-rates', { method: 'POST', headers, payload })
  return { status: answer.statusCode, body: answer.json() }
}
const count = async () => (await query('SELECT count(*)::int AS n FROM fx_rates'))[0].n

test('ten years of rates are loaded twice and stand there once', async () => {
  const currencies = Array.from({ length: 40 }, (_, n) => `${String.fromCharCode(65 + (n % 26))}A${n < 26 ? 'A' : 'B'}`)
  const days = Array.from({ length: 2500 }, (_, n) => new Date(Date.UTC(2026, 0, 31 - n)).toISOString().slice(0, 10))
  const lines = days.map((day, n) => `${day},${currencies.map((_, c) => ((n + c) % 9 === 0 ? 'N/A' : `1${n}.${c}1`))},`)
  const file = [`Date,${currencies},`, ...lines, ''].join('\n')
  const { status, body } = await load(file)
  expect([status, body]).toEqual([200, expect.anything()])
  expect(FxLoaded.strict().parse(body)).toMatchObject({
    days: 2500,
    currencies: 40,
    from: days.at(-1),
    to: '2026-01-31',
  })
  expect(await count()).toBe(body.rates)
  expect(await load(file)).toEqual({ status, body })
  expect(await count()).toBe(body.rates)
})

test('a report after the answer of a load uses its rates', async () => {
  const pool = {
    query: async ({ text, values }: { text: string; values: unknown[] }) => ({ rows: await query(text, values) }),
  }
  const fxRates = openFxRates({ pool: pool as unknown as Pool, now: Date.now })
  const lookup = { day: '2026-03-02', currency: 'EUR' }
  for (const usd of ['1.25', '1.5']) {
    await fxRates.find([lookup])
    await load(`Date,USD,\n2026-03-02,${usd},\n`)
    expect((await fxRates.find([lookup]))(lookup)).toEqual({ usd, units: '1' })
  }
})

test('only the admin token loads', async () => {
  expect(await load('Date,USD\n2026-01-01,1', 'other')).toMatchObject({
    status: 401,
    body: { error: 'invalid_admin_token' },
  })
})

test.each(['', '{}', 'Date,USD\n2026-13-01,1', Buffer.from([0xff, 0xfe, 0])])(
  'a body that is no such file: %j',
  async (body) => {
    const before = await count()
    expect(await load(body)).toMatchObject({ status: 400, body: { error: 'bad_csv', message: expect.any(String) } })
    expect(await count()).toBe(before)
  },
)

test('a body over 8 MiB is refused', async () => {
  expect(await load('x'.repeat(8 * 1024 * 1024 + 1))).toMatchObject({ status: 413, body: { error: 'body_too_large' } })
})
