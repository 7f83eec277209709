import { CodedError } from '@tributary/contracts/errors'
import { limits } from '@tributary/contracts/limits'
import type { StoredUpload } from '@tributary/tables/costs/store-costs'
import { beforeEach, expect, test, vi } from 'vitest'
import { peopleWorld } from '../people/people-world.ts'

const uploads: StoredUpload[] = []
let away: Error | null = null
let held: Promise<void> | null = null
const costs = {
  async store(upload: StoredUpload) {
    if (away !== null) throw away
    await held
    uploads.push(upload)
  },
}
const { ask, clock, newApp, signedIn, auditOf } = peopleWorld({ costs })

beforeEach(() => {
  uploads.length = 0
  away = null
})

const cost = (change: object = {}) => ({ day: '2026-05-01', partner: 'acme', cost: 1.5, currency: 'EUR', ...change })
const path = (app_id: string) => `/apps/${app_id}/costs`

test('a marketer uploads costs: each is judged as with a server key, and the audit log has who did it', async () => {
  const { company_id, app_id } = await newApp()
  const marketer = await signedIn('marketer', company_id)
  const given = [cost({ partner: 'Acme' }), cost({ day: '2026-05-03' }), cost({ cost: -1 })]
  expect(await marketer.ask('PUT', path(app_id), { costs: given, as_of_ms: 17 })).toMatchObject({
    status: 200,
    body: {
      ...{ accepted: 2, rejected: 1 },
      results: [
        { status: 'accepted' },
        { status: 'accepted' },
        { status: 'rejected', reason: 'bad_cost', field: 'cost' },
      ],
    },
  })
  expect(uploads).toMatchObject([
    {
      ...{ app_id, as_of_ms: 17, uploaded_at_ms: clock.now_ms },
      costs: [
        { day: '2026-05-01', partner: 'acme', cost_micros: 1_500_000 },
        { day: '2026-05-03', partner: 'acme' },
      ],
    },
  ])
  expect(await auditOf(app_id)).toContainEqual(
    expect.objectContaining({
      ...{ action: 'costs.upload', actor: marketer.email },
      detail: { accepted: 2, rejected: 1, as_of_ms: 17, from: '2026-05-01', to: '2026-05-03' },
    }),
  )
})

test('an upload that does not fit is refused whole, and one without a good cost stores nothing', async () => {
  const { app_id } = await newApp()
  const put = (body: unknown) => ask('PUT', path(app_id), body)
  const ahead = clock.now_ms + limits.cost_as_of_ahead_ms_max + 1
  expect(await put({ costs: [cost()], as_of_ms: ahead })).toMatchObject({
    status: 400,
    body: { error: 'bad_batch_shape' },
  })
  expect(await put({ costs: [cost()], more: 1 })).toMatchObject({ status: 400, body: { error: 'bad_batch_shape' } })
  const many = Array(limits.costs_max + 1).fill(cost())
  expect(await put({ costs: many })).toMatchObject({ status: 400, body: { error: 'too_many_costs' } })
  expect(await put({ costs: [cost({ day: 'May' })] })).toMatchObject({
    status: 200,
    body: { accepted: 0, rejected: 1 },
  })
  expect(uploads).toEqual([])
})

test('an upload that was not stored is answered 503', async () => {
  const { app_id } = await newApp()
  away = new CodedError('unavailable')
  expect(await ask('PUT', path(app_id), { costs: [cost()] })).toMatchObject({ status: 503 })
})

test('one app has few uploads at once, and others are not held up', async () => {
  const [loud, other] = [await newApp(), await newApp()]
  const gate = Promise.withResolvers<void>()
  held = gate.promise
  const put = (app_id: string) => ask('PUT', path(app_id), { costs: [cost()] })
  const sent = Array.from({ length: 5 }, () => put(loud.app_id))
  const others = put(other.app_id)
  let refused = 0
  for (const one of sent)
    void one.then(({ status }) => {
      if (status === 429) refused += 1
    })
  await vi.waitFor(() => expect(refused).toBe(3))
  gate.resolve()
  held = null
  expect((await Promise.all(sent)).map(({ status }) => status).toSorted()).toEqual([200, 200, 429, 429, 429])
  expect(await others).toMatchObject({ status: 200 })
  expect(await put(loud.app_id)).toMatchObject({ status: 200 })
})
