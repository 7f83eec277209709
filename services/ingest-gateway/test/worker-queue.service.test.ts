import { gzipSync } from 'node:zlib'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { expect, onTestFinished, test } from 'vitest'
import { openWorker } from '../src/judge/threads/worker-queue.ts'

test('a body that ends the thread is 503, and those behind it are judged by a new one', async () => {
  const worker = openWorker({ logger: pino({ level: 'silent' }), registry: new Registry() })
  onTestFinished(() => worker.close())
  const body = (text: string) => ({ wire: Buffer.from(text), encoding: undefined })
  const input = { facts: { company_id: 'co_1', app_id: 'app_1' } }
  const fatal = worker.judge('bulk', body('{"events":[{}]}'), { ...input, key: null } as never)
  const behind = worker.judge('privacy', body('{"install_uuid":"i-1"}'), input)
  await expect(fatal).rejects.toMatchObject({ code: 'unavailable', headers: { 'retry-after': '1' } })
  expect(await behind).toEqual({ install_uuid: 'i-1' })
})

test('a body that waits too long is 503 in time, with those that wait behind it; later ones are judged', async () => {
  const worker = openWorker({ logger: pino({ level: 'silent' }), registry: new Registry(), wait_ms_max: 1 })
  onTestFinished(() => worker.close())
  const slow = Buffer.from(`{"a":[${'[],'.repeat(500_000)}[]]}`)
  const flood = Array.from({ length: 20 }, () =>
    worker.judge('privacy', { wire: slow, encoding: undefined }, { facts: { company_id: 'co_1', app_id: 'app_1' } }),
  )
  const answers = await Promise.allSettled(flood)
  for (const answer of answers)
    expect(answer).toMatchObject({ reason: { code: 'unavailable', headers: { 'retry-after': '1' } } })
  const again = () =>
    worker
      .judge(
        'privacy',
        { wire: Buffer.from('{}'), encoding: undefined },
        { facts: { company_id: 'co_1', app_id: 'app_1' } },
      )
      .catch(({ code }: { code: string }) => code)
  await expect.poll(again, { timeout: 180_000 }).toBe('install_uuid_required')
})

/** Takes the thread long for its size. */
const arrays = (bytes: number) => Buffer.from(`{"install_uuid":"i-1","a":[${'[],'.repeat(bytes / 3)}[]]}`)
const gzip = (text: Buffer) => ({ wire: gzipSync(text), encoding: 'gzip' })
/** It ends with a member of one byte, so it claims to inflate to that. */
const liar = (text: Buffer) => ({ wire: Buffer.concat([gzipSync(text), gzipSync(' ')]), encoding: 'gzip' })

test.each([
  ['are', gzip],
  ['claim not to be', liar],
])('a small body is judged before large ones of many companies, also where these %s', async (_, pack) => {
  const worker = openWorker({ logger: pino({ level: 'silent' }), registry: new Registry(), wait_ms_max: 180_000 })
  onTestFinished(() => worker.close())
  const order: string[] = []
  const judge = async (company_id: string, body: ReturnType<typeof gzip>) => {
    const judged = await worker.judge('privacy', body, { facts: { company_id, app_id: 'app' } })
    expect(judged).toEqual({ install_uuid: 'i-1' })
    order.push(company_id)
  }
  const large = pack(arrays(2 ** 21))
  const flood = Array.from({ length: 12 }, (_, n) => judge(`large ${n}`, large))
  await Promise.all([...flood, judge('small', gzip(arrays(150_000)))])
  expect(order.indexOf('small')).toBeLessThanOrEqual(1)
  expect(order).toHaveLength(13)
})
