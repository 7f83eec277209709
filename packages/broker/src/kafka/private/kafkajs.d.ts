declare module 'kafkajs/src/network/requestQueue/index.js' {
  export default class RequestQueue {
    pending: unknown[]
    scheduleCheckPendingRequests(): void
  }
}

declare module 'kafkajs/src/protocol/encoder.js' {
  export default class Encoder {
    buf: Buffer
    /** Where the next byte of `buf` goes. */
    offset: number
    /** What comes before `buf` (encoder.ts), and its bytes. */
    parts?: Buffer[]
    parts_bytes?: number
    size(): number
    writeInt32(value: number): this
    writeBytes(value: unknown): this
    writeBufferInternal(buffer: Buffer): void
    writeEncoder(value: Encoder): this
    writeEncoderArray(values: Encoder[]): this
  }
}

declare module 'kafkajs/src/consumer/offsetManager/index.js' {
  interface TopicOffsets {
    topic: string
    partitions: { partition: number; offset: string }[]
  }
  export default class OffsetManager {
    cluster: {
      fetchTopicsOffset(
        topics: { topic: string; fromBeginning: boolean; partitions: { partition: number }[] }[],
      ): Promise<TopicOffsets[]>
    }
    /** The next offset to ask for, by topic and partition. */
    resolvedOffsets: Record<string, Record<number, string>>
    setDefaultOffset(at: { topic: string; partition: number }): Promise<void>
  }
}
