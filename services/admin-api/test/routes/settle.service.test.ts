import { expect, test, vi } from 'vitest'
import { adminApiUnderTest } from '../admin-api-under-test.ts'

const { ask, query } = adminApiUnderTest()

/** Ends the work that the API asks for, as the settler does. */
async function end(outcome: object) {
  await vi.waitFor(
    async () => {
      const ended = await query(
        'UPDATE jobs SET begun_at_ms = 1, ended_at_ms = 2, outcome = $1 WHERE ended_at_ms IS NULL RETURNING 1',
        [JSON.stringify(outcome)],
      )
      expect(ended).toHaveLength(1)
    },
    { timeout: 10_000 },
  )
}

test('whoever has days settled hears what the settler made of it', async () => {
  const asked = ask('POST', '/settle', {})
  await end({ settled: 3, done: true })
  expect(await asked).toMatchObject({ status: 200, body: { settled: 3, done: true } })
})

test('whoever has days settled hears why the settler failed', async () => {
  const asked = ask('POST', '/settle', {})
  await end({ error: 'not enough memory' })
  const message = 'The settler failed: not enough memory'
  expect(await asked).toMatchObject({ status: 503, body: { error: 'unavailable', message } })
})

test('whoever has retention run hears its number, and what was removed or would be', async () => {
  const asked = ask('POST', '/retention/run', { dry_run: true })
  await end({ rows: { clicks_raw_v1: 3 }, objects_blanked: 0, objects_deleted: 0 })
  const { status, body } = await asked
  const found = { done: true, rows: { clicks_raw_v1: 3 }, objects_blanked: 0, objects_deleted: 0 }
  expect({ status, body }).toEqual({ status: 200, body: { run: expect.any(Number), ...found } })
  expect(await ask('POST', '/retention/run', { run: body.run })).toMatchObject({ status: 200, body })
  const none = await ask('POST', '/retention/run', { run: 999_999 })
  expect(none).toMatchObject({ status: 400, body: { error: 'invalid_field', field: 'run' } })
  const failing = ask('POST', '/retention/run', {})
  await end({ error: 'The run of the night is at work.' })
  expect(await failing).toMatchObject({ status: 503, body: { error: 'unavailable' } })
  const logged = await query(`SELECT action FROM admin_audit_log WHERE action = 'retention.run'`, [])
  expect(logged).toHaveLength(1)
})
