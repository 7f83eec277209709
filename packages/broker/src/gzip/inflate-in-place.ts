import { constants, crc32, createGunzip, createInflateRaw, type Gunzip, type InflateRaw } from 'node:zlib'

/** The engine inside Node's zlib. Its documented calls make a new one for each body. */
interface Engine {
  reset(): void
  /** Synchronous; afterwards `state` holds [room left, input left]. A fault goes to `onerror`. */
  writeSync(flush: number, input: Buffer, at: number, length: number, out: Buffer, out_at: number, room: number): void
  onerror: () => void
}
interface Inside {
  _handle?: Partial<Engine>
  _writeState?: Uint32Array
}

/** Larger files go the documented way. */
const slab_bytes = 512 * 1024

/**
 * Inflates gzip files, one after the other, into one piece of memory: the result holds **until the next call**. Null for
 * what is not plainly right (faults, large files): the caller takes the documented way then. An engine for each file
 * costs a third more CPU, and its memory outside the heap, freed by full collections only, brings them on: at the
 * door a tenth of all CPU went there. Null altogether where Node is not built as it is known to be.
 */
export function createInflateInPlace(gunzip: Gunzip = createGunzip()): (wire: Buffer) => Buffer | null {
  const inflate = openEngine(gunzip)
  return (wire) => {
    if (wire.length < frame_bytes || wire.readUInt32LE(wire.length - 4) >= slab_bytes) return null
    return inflate(wire, 0, wire.length)
  }
}

/**
 * The same for a gzip file of one member whose header names nothing, which every reader of gzip takes: Go refuses long
 * names, and a million empty members keep any reader busy. Null for other files.
 */
export function createInflatePlain(raw: InflateRaw = createInflateRaw()): (wire: Buffer) => Buffer | null {
  const inflate = openEngine(raw)
  return (wire) => {
    if (wire.length < frame_bytes || wire.readUInt32BE(0) !== plain_magic) return null
    const sum = wire.readUInt32LE(wire.length - 8)
    const bytes = wire.readUInt32LE(wire.length - 4)
    const inflated = bytes < slab_bytes ? inflate(wire, header_bytes, wire.length - frame_bytes) : null
    return inflated !== null && inflated.length === bytes && crc32(inflated) === sum ? inflated : null
  }
}

const header_bytes = 10
/** Header and trailer. */
const frame_bytes = header_bytes + 8
/** Gzip, deflate, no flags. */
const plain_magic = 0x1f8b0800

/** Inflates a range of bytes that is all of what the engine reads; null for a fault, and without room. */
function openEngine(stream: Gunzip | InflateRaw): (wire: Buffer, at: number, length: number) => Buffer | null {
  const { _handle: engine, _writeState: state } = stream as Inside
  if (!isEngine(engine) || !(state instanceof Uint32Array)) return () => null
  const slab = Buffer.allocUnsafeSlow(slab_bytes)
  let failed = false
  engine.onerror = () => {
    failed = true
  }
  return (wire, at, length) => {
    failed = false
    engine.reset()
    engine.writeSync(constants.Z_FINISH, wire, at, length, slab, 0, slab_bytes)
    const [room, left] = state
    // No room left: there may be more. Input left: bytes after the last member, of which there may be several.
    return failed || room === 0 || left !== 0 ? null : slab.subarray(0, slab_bytes - room!)
  }
}

const isEngine = (engine: Inside['_handle']): engine is Engine =>
  typeof engine?.reset === 'function' && typeof engine.writeSync === 'function'
