import kafkajs, { type Admin } from 'kafkajs'
import { expect, it } from 'vitest'
import { fetchGroupOffsets } from '../../src/kafka/kafka-offsets.ts'

/** Fails the first time, as kafkajs does when the broker says that something has just moved. */
function movedOnce<T>(type: string, answer: T): () => Promise<T> {
  let asked = false
  return async () => {
    if (asked) return answer
    asked = true
    throw Object.assign(new Error(type), { type, retriable: true })
  }
}

const admin = (given: object) =>
  ({
    fetchOffsets: async () => [{ topic: 't', partitions: [{ partition: 0, offset: '3', metadata: null }] }],
    fetchTopicOffsets: async () => [{ partition: 0, offset: '5', low: '1', high: '5' }],
    fetchTopicOffsetsByTimestamp: async () => [{ partition: 0, offset: '0' }],
    ...given,
  }) as unknown as Admin

it('tells where a group stands though coordinator and leaders have just moved', async () => {
  const moved = admin({
    fetchOffsets: movedOnce('NOT_COORDINATOR_FOR_GROUP', await admin({}).fetchOffsets({ groupId: 'g' })),
    fetchTopicOffsets: movedOnce('NOT_LEADER_FOR_PARTITION', await admin({}).fetchTopicOffsets('t')),
    fetchTopicOffsetsByTimestamp: movedOnce('NOT_LEADER_FOR_PARTITION', [{ partition: 0, offset: '0' }]),
  })
  const stands = [
    { partition: 0, committed: 3, metadata: '', earliest: 1, end: 5, oldest_unread_ms: expect.any(Number) },
  ]
  expect(await fetchGroupOffsets(moved, 'g', 't', Date.now())).toEqual(stands)
})

it('tells where a group stands once a coordinator is found for which kafkajs had asked in vain', async () => {
  const { KafkaJSNumberOfRetriesExceeded, KafkaJSProtocolError } = kafkajs
  const answer = await admin({}).fetchOffsets({ groupId: 'g' })
  let asked = false
  const found = async () => {
    if (asked) return answer
    asked = true
    const none = new KafkaJSProtocolError(
      Object.assign(new Error('none'), { type: 'GROUP_COORDINATOR_NOT_AVAILABLE', retriable: true }),
    )
    throw new KafkaJSNumberOfRetriesExceeded(none, { retryCount: 5, retryTime: 3000 })
  }
  const [place] = await fetchGroupOffsets(admin({ fetchOffsets: found }), 'g', 't', null)
  expect(place).toMatchObject({ committed: 3, end: 5 })
})

it('gives up at once when kafkajs asked for a topic that is missing', async () => {
  const { KafkaJSNumberOfRetriesExceeded, KafkaJSProtocolError } = kafkajs
  const missing = async () => {
    const type = 'UNKNOWN_TOPIC_OR_PARTITION'
    const none = new KafkaJSProtocolError(Object.assign(new Error(type), { type, retriable: true }))
    throw new KafkaJSNumberOfRetriesExceeded(none, { retryCount: 5, retryTime: 3000 })
  }
  await expect(fetchGroupOffsets(admin({ fetchTopicOffsets: missing }), 'g', 't', null)).rejects.toThrow(
    'UNKNOWN_TOPIC',
  )
})

it('gives up at once when kafkajs could not reach Kafka', async () => {
  const { KafkaJSConnectionError, KafkaJSNumberOfRetriesExceeded } = kafkajs
  const away = async () => {
    const refused = new KafkaJSConnectionError('connect ECONNREFUSED', {})
    throw new KafkaJSNumberOfRetriesExceeded(refused, { retryCount: 5, retryTime: 3000 })
  }
  await expect(fetchGroupOffsets(admin({ fetchOffsets: away }), 'g', 't', null)).rejects.toThrow('ECONNREFUSED')
})

it('tells where a group stands while other topics are looked up at the same time', async () => {
  let asked = false
  const answer = await admin({}).fetchTopicOffsetsByTimestamp('t', 0)
  // What kafkajs does when another look-up took the metadata of the topic away.
  const crowded = async () => {
    if (asked) return answer
    asked = true
    const { partitions } = [].pop() as unknown as { partitions: never }
    return partitions
  }
  const [place] = await fetchGroupOffsets(admin({ fetchTopicOffsetsByTimestamp: crowded }), 'g', 't', Date.now())
  expect(place).toMatchObject({ committed: 3, end: 5 })
})

it('gives back what Kafka refuses for good', async () => {
  const refused = async () => {
    throw Object.assign(new Error('not allowed'), { retriable: false })
  }
  await expect(fetchGroupOffsets(admin({ fetchTopicOffsets: refused }), 'g', 't', 0)).rejects.toThrow('not allowed')
})
