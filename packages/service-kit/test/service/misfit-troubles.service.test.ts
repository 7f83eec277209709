import { topics } from '@tributary/contracts/topics'
import { createMisfitTroubles } from '@tributary/service-kit/service/troubles/misfit-troubles'
import { createReplayNeeded, type Noted } from '@tributary/service-kit/service/troubles/replay-needed'
import { memoryBroker } from '@tributary/testing/twins/memory-broker'
import { Registry } from 'prom-client'
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

/** Misfits of a process that keeps losses for the next one. */
function openMisfits({ tables_on_server = false, known = {} as Noted, registry = new Registry() } = {}) {
  let kept = known
  const needed = createReplayNeeded({
    ...{ registry, known },
    keep: (all) => {
      kept = all
    },
  })
  const misfits = createMisfitTroubles(needed, { tables_on_server })
  return {
    ...misfits,
    beginReplay: needed.beginReplay,
    troubles: () => [...misfits.troubles(), ...needed.troubles()],
    kept: () => kept,
  }
}

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
  const misfits = openMisfits({ tables_on_server: true })
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
  misfits.beginReplay()()
  expect(misfits.troubles()).toEqual([])
})

test('a moved offset is a trouble only until what is behind it was read', async () => {
  const broker = memoryBroker(1, now)
  await broker.publish(['1', '2', '3'].map(letter))
  const table = sink()
  await readToEnd(broker, { consumer: reader(table.write) })
  await broker.moveGroup(group, topic.name, [{ partition: 0, offset: 1 }])
  const misfits = openMisfits()
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
    const misfits = openMisfits()
    misfits.found({ consumer: 'c', topic: 't', partition: 7, reason, committed: 5, next: -1, end: 4 })
    const [trouble] = misfits.troubles()
    expect(trouble).toMatchObject({ code: reason, fix: expect.stringContaining('npx tributary ') })
    expect(trouble!.message).toMatch(
      /partition 7 of t: .*committed 5, the log ends at 4, reading goes on at its beginning/,
    )
  },
)

test('lost postbacks are told until a replay has brought them back', () => {
  const misfits = openMisfits()
  const place = { consumer: 'postback-writer', topic: topics.postbacksReceived.name, committed: 3, next: 0, end: 3 }
  misfits.found({ ...place, partition: 0, reason: 'tables_lack_rows' })
  expect(misfits.troubles()).toMatchObject([{ fix: expect.stringContaining('npx tributary replay --from-audit') }])
  misfits.caughtUp('postback-writer', 0)
  expect(misfits.troubles()).toHaveLength(1)
  misfits.beginReplay()()
  expect(misfits.troubles()).toEqual([])
})

test('what only a replay fills is told by the next process too, counted in a metric, and by none after the replay', async () => {
  const first = openMisfits()
  const place = { consumer: 'event-writer', topic: 'events', committed: 5, next: 0, end: 3 }
  first.found({ ...place, partition: 0, reason: 'log_ends_before' })
  first.found({ ...place, partition: 1, reason: 'tables_are_ahead' })
  first.found({ ...place, partition: 1, reason: 'offset_moved' })
  first.found({ ...place, partition: 2, reason: 'offset_moved' })
  const registry = new Registry()
  const second = openMisfits({ known: JSON.parse(JSON.stringify(first.kept())), registry })
  expect(second.troubles().map(({ code }) => code)).toEqual(['log_ends_before', 'tables_are_ahead'])
  expect(await registry.metrics()).toContain('tributary_replay_needed 2')
  second.beginReplay()()
  expect(await registry.metrics()).toContain('tributary_replay_needed 0')
  expect(openMisfits({ known: second.kept() }).troubles()).toEqual([])
})

test('a log or offsets of an earlier state are no case of "nothing is missing": the audit store may hold more', () => {
  const misfits = openMisfits()
  const place = { consumer: 'event-writer', topic: 'events', partition: 0, committed: 3, next: 3, end: 3 }
  misfits.found({ ...place, reason: 'tables_are_ahead' })
  misfits.caughtUp('event-writer', 0)
  expect(misfits.troubles()).toMatchObject([{ fix: expect.stringContaining('npx tributary replay --from-audit') }])
})

test('a loss that is found while a replay runs is told after its end: the replay may have passed it', () => {
  const misfits = openMisfits()
  const place = { consumer: 'event-writer', topic: 'events', committed: 3, next: 3, end: 3 }
  for (const partition of [0, 1]) misfits.found({ ...place, partition, reason: 'log_replaced' })
  const end = misfits.beginReplay()
  for (const partition of [1, 2]) misfits.found({ ...place, partition, reason: 'log_replaced' })
  end()
  expect(misfits.troubles().map(({ message }) => message)).toEqual([
    expect.stringContaining('partition 1 '),
    expect.stringContaining('partition 2 '),
  ])
})

test('a loss is noted before the offsets move, because the move takes away what shows it', async () => {
  const broker = memoryBroker(1, now)
  await broker.publish(['1', '2', '3'].map(letter))
  const table = sink()
  await readToEnd(broker, { consumer: reader(table.write) })
  const misfits = openMisfits()
  let kept_at_move: Noted | null = null
  const watched = {
    ...broker,
    moveGroup: async (...given: Parameters<typeof broker.moveGroup>) => {
      kept_at_move = misfits.kept()
      await broker.moveGroup(...given)
    },
  }
  let lacks = true
  const findMisfit = async () => (lacks ? { reason: 'tables_lack_rows', reread: true } : null)
  const second = await start(watched, { consumer: { ...reader(table.write), findMisfit }, misfits }).running
  lacks = false
  await until(allDone(broker), 'second reading')
  await second.close()
  expect(Object.values(kept_at_move ?? {})).toMatchObject([{ code: 'tables_lack_rows' }])
})
