import { deadLetterTopic, topics } from '@tributary/contracts/topics'
import { requireTopics } from '@tributary/service-kit/resources/require-topics'
import { StartRefused } from '@tributary/service-kit/settings/start-refused'
import { expect, test } from 'vitest'
import { refusalOf } from '../service/service-under-test.ts'

const topic = topics.eventsAccepted
const dead = deadLetterTopic(topic)
const both = { [topic.name]: topic.partitions, [dead.name]: dead.partitions }

/** A log that has these topics and no others, each with its number of partitions. */
const logOf = (has: Record<string, number>) => ({
  async partitionCount(name: string) {
    const count = has[name]
    if (count === undefined) throw new Error(`no topic ${name}`)
    return count
  },
})

test('a service starts on topics and dead-letter topics as they shall be', async () => {
  await requireTopics(logOf(both), [topic])
})

test.each([
  ['a topic that is missing', { [dead.name]: dead.partitions }, `The topic ${topic.name} is missing. `],
  ['a dead-letter topic that is missing', { [topic.name]: topic.partitions }, `The topic ${dead.name} is missing. `],
  ['too many partitions', { ...both, [topic.name]: topic.partitions + 1 }, `has ${topic.partitions + 1} partitions`],
  ['too few dead-letter partitions', { ...both, [dead.name]: 1 }, `The topic ${dead.name} has 1 partitions`],
])('and on nothing else: %s', async (_what, has, reason) => {
  const refusal = await refusalOf(requireTopics(logOf(has), [topic]))
  expect(refusal).toBeInstanceOf(StartRefused)
  expect(refusal.message).toContain(reason)
  expect(refusal.message).toContain('npx tributary topics apply')
})

test('a log that is away is not a topic that is missing', async () => {
  const away = Object.assign(new Error('connect refused'), { code: 'log_unavailable' })
  const refusal = await refusalOf(requireTopics({ partitionCount: () => Promise.reject(away) }, [topic]))
  expect(refusal).toBeInstanceOf(StartRefused)
  expect(refusal.message).toMatch(/^Kafka can't be used: connect refused/)
})
