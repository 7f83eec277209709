import { randomUUID } from 'node:crypto'
import { ReconcileProgress } from '@tributary/contracts/admin/reconcile'
import { topics } from '@tributary/contracts/topics'
import { describeWithFleet } from '@tributary/testing/fleet/describe-with-fleet'
import type { FleetProcess } from '@tributary/testing/fleet/fleet-process'
import { beforeAll, expect, it } from 'vitest'

const admin_token = randomUUID()

await describeWithFleet({ gateways: 1, writers: 1, env: { TRIBUTARY_ADMIN_TOKEN: admin_token } }, (fleet) => {
  let admin: FleetProcess
  let reconciler: FleetProcess
  beforeAll(async () => {
    ;[admin, reconciler] = (await Promise.all(['admin-api', 'reconciler'].map((name) => fleet.startService(name)))) as [
      FleetProcess,
      FleetProcess,
    ]
  })

  const start = () =>
    fetch(`${admin.url}/admin/api/v1/reconcile`, {
      method: 'POST',
      headers: { authorization: `Bearer ${admin_token}` },
      body: '{}',
    })
  const lastLine = async (answer: Response) =>
    ReconcileProgress.parse(JSON.parse((await answer.text()).trim().split('\n').at(-1)!))

  it('one process answers whoever asks, and another one compares', async () => {
    expect(await lastLine(await start())).toMatchObject({ state: 'done', differences: [] })
  })

  it('whoever waits hears of the death of the one that compares, and the next one is answered', async () => {
    // It waits for ever where no writer runs.
    await fleet.writers[0]!.kill()
    const record = { topic: topics.eventsAccepted.name, partition: 0, key: null, value: Buffer.from('unwritten') }
    await fleet.broker.publish([record])
    const broken = await start()
    expect(broken.status).toBe(200)
    await reconciler.kill()
    expect(await lastLine(broken)).toMatchObject({ state: 'failed', error: 'unavailable' })
    await reconciler.restart()
    await fleet.writers[0]!.restart()
    expect(await lastLine(await start())).toMatchObject({ state: 'done' })
  })
})
