import { describe, expect, it } from 'vitest'
import { tributary } from '../run-tributary.ts'
import { idle, ready, service } from './fake-admin-api.ts'

describe('tributary status', () => {
  it('waits until every lag is 0', async () => {
    let lag = 3
    const env = await service({
      'GET /admin/api/v1/status': () => {
        const body = { ...ready, consumers: [{ ...idle, lag, oldest_unwritten_ms: lag === 0 ? null : 10 }] }
        lag = Math.max(0, lag - 1)
        return { status: 200, body }
      },
    })
    const run = await tributary(['status', '--wait', '--json'], env)
    expect(run).toMatchObject({ code: 0, stderr: '' })
    expect(JSON.parse(run.stdout)).toEqual(ready)
  })

  it('ends with 1 when the lag stays until --timeout, and names the consumer that is behind', async () => {
    const env = await service({
      'GET /admin/api/v1/status': () => ({ status: 200, body: { ...ready, consumers: [{ ...idle, lag: 7 }] } }),
    })
    const run = await tributary(['status', '--wait', '--timeout', '0.3', '--json'], env)
    expect(run).toMatchObject({ code: 1, stdout: '' })
    expect(JSON.parse(run.stderr)).toEqual({ error: 'timeout', message: expect.stringContaining('event-writer has 7') })
  })
})
