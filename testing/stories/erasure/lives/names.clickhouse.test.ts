import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ErasureStage, openErasureStage, sentEvent } from '../stage.ts'
import { rowsByInstall } from './rows-by-install.ts'

let stage: ErasureStage
beforeAll(async () => {
  stage = await openErasureStage()
})
afterAll(() => stage.close())

test('an install with the name of a member of every object is erased, and its certificate counts its rows', async () => {
  const app_id = await stage.makeApp()
  const names = ['__proto__', 'constructor', 'toString', 'hasOwnProperty']
  await stage.write({ events: names.map((name) => sentEvent(name)), decisions: [] }, [app_id])
  await stage.request(app_id, names)
  await stage.run()
  for (const name of names) {
    expect(await stage.certificate(app_id, name), name).toMatchObject({
      ...{ state: 'completed' },
      rows: { events_raw_v1: 1, event_keys_v1: 1, activity_by_day_v1: 1 },
    })
    expect(await rowsByInstall(stage.clickhouse, app_id, name), name).toEqual({})
  }
})
