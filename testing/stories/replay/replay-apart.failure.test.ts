import { randomUUID } from 'node:crypto'
import { topics } from '@tributary/contracts/topics'
import { openPostgres } from '@tributary/postgres/postgres'
import { describeWithFleet } from '@tributary/testing/fleet/describe-with-fleet'
import type { FleetProcess } from '@tributary/testing/fleet/fleet-process'
import type { Pool } from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'

const admin_token = randomUUID()
const patience = { timeout: 180_000, interval: 100 }

await describeWithFleet({ gateways: 1, writers: 1, env: { TRIBUTARY_ADMIN_TOKEN: admin_token } }, (fleet) => {
  let admin: FleetProcess
  let replayer: FleetProcess
  let pool: Pool
  beforeAll(async () => {
    ;[admin, replayer] = (await Promise.all(['admin-api', 'replayer'].map((name) => fleet.startService(name)))) as [
      FleetProcess,
      FleetProcess,
    ]
    const { url } = fleet.engine('postgres')
    pool = openPostgres({ url, pool_max: 2, statement_timeout_ms: 60_000, connect_timeout_ms: 5000 })
  })
  afterAll(() => pool?.end())

  const start = () =>
    fetch(`${admin.url}/admin/api/v1/replays`, {
      method: 'POST',
      headers: { authorization: `Bearer ${admin_token}` },
      body: JSON.stringify({ source: 'log' }),
    })
  const lastLine = async (answer: Response) => JSON.parse((await answer.text()).trim().split('\n').at(-1)!)
  const newest = async () =>
    (await pool.query('SELECT progress, outcome FROM jobs ORDER BY number DESC LIMIT 1')).rows[0]

  it('one process answers whoever asks for a replay, and another one replays', async () => {
    expect(await lastLine(await start())).toMatchObject({ state: 'done', replayed: 0 })
  })

  it('whoever waits hears of the death of the one that replays, and the other way round', async () => {
    // A replay waits for ever where no writer runs.
    await fleet.writers[0]!.kill()
    const record = { topic: topics.eventsAccepted.name, partition: 0, key: null, value: Buffer.from('unwritten') }
    await fleet.broker.publish([record])
    const broken = await start()
    expect(broken.status).toBe(200)
    await replayer.kill()
    expect(await lastLine(broken)).toMatchObject({ state: 'failed', error: 'unavailable' })
    await replayer.restart()
    const left = await start()
    expect(left.status).toBe(200)
    await admin.kill()
    await expect(left.text()).rejects.toThrow()
    await expect
      .poll(newest, patience)
      .toEqual({ progress: expect.objectContaining({ state: 'stopped' }), outcome: {} })
  })
})
