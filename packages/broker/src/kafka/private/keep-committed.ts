import OffsetManager from 'kafkajs/src/consumer/offsetManager/index.js'

/**
 * When the log does not have the next offset of a consumer any more, kafkajs 2.2.4 commits the special offset -2 for
 * its group. The committed offset and the intent in its metadata would be gone for every later owner. With this kafkajs
 * goes on at the earliest record and commits nothing. kafkajs is pinned, since this is a private file of it.
 */
export function keepCommitted(): void {
  OffsetManager.prototype.setDefaultOffset = async function (this: OffsetManagerInstance, { topic, partition }) {
    const request = [{ topic, fromBeginning: true, partitions: [{ partition }] }]
    const [earliest] = (await this.cluster.fetchTopicsOffset(request))[0]!.partitions
    this.resolvedOffsets[topic]![partition] = earliest!.offset
  }
}

type OffsetManagerInstance = InstanceType<typeof OffsetManager>
