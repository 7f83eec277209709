import { topics } from '@tributary/contracts/topics'
import { createMisfitTroubles } from '@tributary/service-kit/service/misfit-troubles'
import { memoryBroker } from '@tributary/testing/twins/memory-broker'
import { expect, test } from 'vitest'
import {
  allDone,
  group,
  letter,
  misfitsOf,
  now,
  reader,
  readToEnd,
  sink,
  start,
  topic,
  until,
} from '../consumer/letters.ts'

test('a log that is read again is reported once', async () => {
  const broker = memoryBroker(1, now)
  await broker.publish(['a', 'b'].map(letter))
  await readToEnd(broker, { consumer: reader(() => {}) })
  const table = sink()
  const second = start(broker, { consumer: reader(table.write), reread: true })
  await until(() => table.letters().length === 2 && allDone(broker)(), 'the second reading')
  await (await second.running).close()
  expect(await misfitsOf(second.registry)).toEqual({ reread: 1 })
  broker.setCommitted(group, topic.name, 0, { offset: 0, metadata: '' })
  const third = await readToEnd(broker, { consumer: reader(table.write) })
  expect(await misfitsOf(third), 'moved by somebody else').toEqual({ offset_moved: 1 })
})

test('a partition that lacks rows is a trouble that names it and the command, until a replay has filled it', async () => {
  const broker = memoryBroker(1, now)
  await broker.publish(['1', '2', '3'].map(letter))
  const table = sink()
  await readToEnd(broker, { consumer: reader(table.write) })
  const misfits = createMisfitTroubles({ tables_on_server: true })
  let lacks = true
  const consumer = {
    ...reader(table.write),
    findMisfit: async () => (lacks ? { reason: 'tables_lack_rows', reread: true } : null),
  }
  const second = await start(broker, { consumer, misfits }).running
  lacks = false
  await until(allDone(broker), 'second reading')
  await second.close()
  expect(misfits.troubles()).toEqual([
    {
      code: 'tables_lack_rows',
      message: expect.stringMatching(/^letter-reader, partition 0 of letters.sent.v1: .* \(committed 3, .* ends at 3,/),
      fix: expect.stringMatching(/npx tributary rebuild.*npx tributary replay --from-audit/),
      refuses: false,
    },
  ])
  misfits.filled()
  expect(misfits.troubles()).toEqual([])
})

test('a moved offset is a trouble only until what is behind it was read', async () => {
  const broker = memoryBroker(1, now)
  await broker.publish(['1', '2', '3'].map(letter))
  const table = sink()
  await readToEnd(broker, { consumer: reader(table.write) })
  await broker.moveGroup(group, topic.name, [{ partition: 0, offset: 1 }])
  const misfits = createMisfitTroubles({ tables_on_server: false })
  let seen: string[] = []
  const look = () => {
    seen = misfits.troubles().map(({ code }) => code)
  }
  const second = await start(broker, { consumer: reader(look), misfits }).running
  await until(() => seen.length > 0 && misfits.troubles().length === 0, 'moved offset was read')
  await second.close()
  expect(seen).toEqual(['offset_moved'])
})

test.each(['offset_moved', 'log_ends_before', 'log_replaced', 'tables_lack_rows', 'tables_are_ahead', 'reread', 'new'])(
  'a misfit %s names its partition, what is known and a command',
  (reason) => {
    const misfits = createMisfitTroubles({ tables_on_server: false })
    misfits.found({ consumer: 'c', topic: 't', partition: 7, reason, committed: 5, next: -1, end: 4 })
    const [trouble] = misfits.troubles()
    expect(trouble).toMatchObject({ code: reason, fix: expect.stringContaining('npx tributary ') })
    expect(trouble!.message).toMatch(
      /partition 7 of t: .*committed 5, the log ends at 4, reading goes on at its beginning/,
    )
  },
)

test('lost postbacks are told until a replay has brought them back', () => {
  const misfits = createMisfitTroubles({ tables_on_server: false })
  const place = { consumer: 'postback-writer', topic: topics.postbacksReceived.name, committed: 3, next: 0, end: 3 }
  misfits.found({ ...place, partition: 0, reason: 'tables_lack_rows' })
  expect(misfits.troubles()).toMatchObject([{ fix: expect.stringContaining('npx tributary replay --from-audit') }])
  misfits.caughtUp('postback-writer', 0)
  expect(misfits.troubles()).toHaveLength(1)
  misfits.filled()
  expect(misfits.troubles()).toEqual([])
})
