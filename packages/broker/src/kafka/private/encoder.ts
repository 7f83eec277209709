import Encoder from 'kafkajs/src/protocol/encoder.js'

/** A smaller value is copied, which is cheaper than a part of its own. */
const part_bytes_min = 1024

/**
 * kafkajs 2.2.4 puts a request together in nested encoders, each of which copies what it takes into a zeroed buffer that
 * doubles as it grows: some 170 kB for a record of 25 kB, and mostly that is what makes V8 collect. With this an encoder
 * keeps what is large by reference, and copies once when its bytes are asked for. kafkajs is pinned, since this is a
 * private file of it.
 */
export function encodeByReference(): void {
  const { prototype } = Encoder
  if (changed.has(prototype)) return
  changed.add(prototype)
  const { writeBufferInternal, writeBytes } = prototype
  Object.defineProperty(prototype, 'buffer', { get: flatten })
  Object.assign(prototype, {
    writeBufferInternal(this: EncoderInstance, buffer: Buffer) {
      if (buffer.length < part_bytes_min) writeBufferInternal.call(this, buffer)
      else append(this, buffer)
    },
    writeBytes(this: EncoderInstance, value: unknown) {
      if (!Buffer.isBuffer(value) || value.length < part_bytes_min) return writeBytes.call(this, value)
      this.writeInt32(value.length)
      append(this, value)
      return this
    },
    writeEncoder(this: EncoderInstance, value: EncoderInstance) {
      for (const part of value.parts ?? []) this.writeBufferInternal(part)
      this.writeBufferInternal(value.buf.subarray(0, value.offset))
      return this
    },
    writeEncoderArray(this: EncoderInstance, values: EncoderInstance[]) {
      for (const value of values) this.writeEncoder(value)
      return this
    },
    size(this: EncoderInstance) {
      return (this.parts_bytes ?? 0) + this.offset
    },
  })
}

type EncoderInstance = InstanceType<typeof Encoder>
const changed = new WeakSet<object>()

/** What was written so far becomes a part, then the buffer another; the rest of the encoder's own buffer goes on. */
function append(encoder: EncoderInstance, buffer: Buffer): void {
  encoder.parts ??= []
  if (encoder.offset > 0) encoder.parts.push(encoder.buf.subarray(0, encoder.offset))
  encoder.parts.push(buffer)
  encoder.parts_bytes = encoder.size() + buffer.length
  encoder.buf = encoder.buf.subarray(encoder.offset)
  encoder.offset = 0
}

function flatten(this: EncoderInstance): Buffer {
  const own = this.buf.subarray(0, this.offset)
  if (this.parts === undefined) return own
  const flat = this.offset === 0 && this.parts.length === 1 ? this.parts[0]! : Buffer.concat([...this.parts, own])
  this.parts = [flat]
  this.parts_bytes = flat.length
  this.buf = this.buf.subarray(this.offset)
  this.offset = 0
  return flat
}
