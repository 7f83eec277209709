import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { EventFields, EventResult, ServerEventReply } from '@tributary/contracts/event'
import { limits as contract } from '@tributary/contracts/limits'
import type { ReportFilters } from '@tributary/contracts/report-parameters'
import type { ReportMeta, ReportName, ReportRow } from '@tributary/contracts/reports'
import { describe, expect, expectTypeOf, it, test } from 'vitest'
import type { ServerEventReply as ClientReply, EventResult as ClientResult, ServerEvent } from '../src/events.ts'
import { errorOf, retryAfterMs } from '../src/http.ts'
import { limits } from '../src/limits.ts'
import type { ReportMeta as ClientMeta, ReportParams, ReportRows } from '../src/reports.ts'
import { pauseMs } from '../src/retry.ts'
import { crashProps } from '../src/sdk/crash-props.ts'

const source = join(import.meta.dirname, '..', 'src')

describe('the copies of contracts in the client', () => {
  it('hold the limits of the service', () => {
    const shared = Object.keys(limits).filter((name) => name in contract)
    expect(shared).toHaveLength(6)
    for (const name of shared)
      expect([name, limits[name as 'sdk_body_bytes_max']]).toEqual([name, contract[name as 'sdk_body_bytes_max']])
  })

  it('hold the types of the service', () => {
    expectTypeOf<ServerEvent>().toExtend<EventFields>()
    expectTypeOf<EventResult>().toEqualTypeOf<ClientResult>()
    expectTypeOf<ServerEventReply>().toEqualTypeOf<ClientReply>()
    expectTypeOf<ReportFilters>().toExtend<ReportParams>()
    expectTypeOf<keyof ReportFilters>().toExtend<keyof ReportParams>()
    expectTypeOf<ReportMeta>().toEqualTypeOf<ClientMeta>()
    expectTypeOf<{ [Name in ReportName]: ReportRow<Name> }>().toEqualTypeOf<ReportRows>()
  })
})

describe('the client runs wherever fetch exists', () => {
  const files = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'))

  it('imports nothing but its own files', () => {
    const specifiers = files.flatMap((file) =>
      [...readFileSync(join(source, file), 'utf8').matchAll(/(?:from|import)\s*\(?\s*'([^']+)'/g)].map(
        ([, one]) => one,
      ),
    )
    expect(specifiers.filter((one) => !/^\.\.?\//.test(one ?? ''))).toEqual([])
  })

  it('compiles with the types of a browser alone, without those of Node', () => {
    const options = '--noEmit --ignoreConfig --strict --erasableSyntaxOnly --allowImportingTsExtensions'.split(' ')
    const target = '--lib esnext,dom --module esnext --moduleResolution bundler --target esnext'.split(' ')
    const tsc = join(import.meta.dirname, '..', '..', '..', 'node_modules', '.bin', 'tsc')
    const paths = files.map((file) => join(source, file))
    expect(execFileSync(tsc, [...options, ...target, '--types', '', ...paths], { encoding: 'utf8' })).toBe('')
  })
})

test.each([
  [null, undefined],
  ['0', 0],
  ['17', 17_000],
  ['Mon, 01 Jun 2026 12:00:30 GMT', 30_000],
  ['Mon, 01 Jun 2026 11:00:00 GMT', 0],
  ['soon', undefined],
  ['-5', 0],
  ['99999999999', undefined],
])('Retry-After "%s" is %s ms', (value, expected) => {
  const found = retryAfterMs(value, Date.UTC(2026, 5, 1, 12))
  // Some runtimes read a number that is not a delay as a date. It must never become a wait.
  expect(found ?? 0).toBe(expected ?? 0)
})

test('pauses are Retry-After plus a random time below a bound that doubles', () => {
  const backoff = (random: number) => ({ first_pause_ms: 100, pause_ms_max: 1000, random: () => random })
  expect([1, 2, 3, 4, 5, 6, 5000].map((tries) => pauseMs(tries, 0, backoff(1)))).toEqual([
    100, 200, 400, 800, 1000, 1000, 1000,
  ])
  expect(pauseMs(5, 0, backoff(0))).toBe(0)
  expect(pauseMs(5, 3000, backoff(0))).toBe(3000)
  expect(pauseMs(5, 3000, backoff(0.5))).toBe(3500)
})

test('an error carries code, status, field, request_id and Retry-After of the answer', () => {
  const headers = new Headers({ 'retry-after': '3' })
  const body = { error: 'invalid_field', field: 'revenue', message: 'No number.', request_id: 'r1' }
  expect(errorOf({ status: 400, headers, body })).toMatchObject({
    name: 'TributaryError',
    code: 'invalid_field',
    status: 400,
    field: 'revenue',
    request_id: 'r1',
    retry_after_ms: 3000,
    message: 'No number.',
  })
  expect(errorOf({ status: 502, headers: new Headers({ 'x-request-id': 'r2' }), body: undefined })).toMatchObject({
    code: 'unexpected_answer',
    status: 502,
    request_id: 'r2',
    retry_after_ms: undefined,
  })
})

test.each([
  ['an error', new Error('boom')],
  ['a long error', Object.assign(new Error('x'.repeat(100_000)), { stack: '\u0001'.repeat(200_000) })],
  ['a text', 'no error at all'],
  ['nothing', undefined],
  ['an object without text', Object.create(null)],
])('the props of a crash fit into an event: %s', (_, thrown) => {
  for (const more of [undefined, { screen: 'shop' }, { huge: 'y'.repeat(50_000) }, { big: 1n }]) {
    const props = crashProps(thrown, more)
    expect(JSON.stringify(props).length).toBeLessThanOrEqual(contract.object_json_bytes_max)
    expect(props.message).toBeTypeOf('string')
  }
})
