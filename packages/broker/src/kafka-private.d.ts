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
    /** What comes before `buf` (kafka-encoder.ts), and its bytes. */
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
