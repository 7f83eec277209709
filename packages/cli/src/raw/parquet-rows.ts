import { open } from 'node:fs/promises'
import { CliError } from '../errors.ts'

/**
 * How many rows a Parquet file has, by its footer: a struct of Thrift's compact protocol, of which field 3 is the number
 * (github.com/apache/parquet-format, parquet.thrift `FileMetaData`). Throws for a file that is not whole.
 */
export async function countParquetRows(path: string): Promise<number> {
  const file = await open(path)
  try {
    const { size } = await file.stat()
    const end = await read(file, Math.max(0, size - 8), 8)
    const length = end.length === 8 ? end.readUInt32LE(0) : 0
    if (end.subarray(4).toString() !== 'PAR1' || length > size - 12)
      throw new CliError('unavailable', `${path} is no whole Parquet file: run the command again.`)
    return Number(numberOfRows(await read(file, size - 8 - length, length)))
  } finally {
    await file.close()
  }
}

async function read(file: Awaited<ReturnType<typeof open>>, position: number, length: number): Promise<Buffer> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, position)
  return buffer.subarray(0, bytesRead)
}

/** Types of the compact protocol. */
const [bool_true, bool_false, byte, i16, i32, i64, double, binary, list, set, map, struct] = Array.from(
  { length: 12 },
  (_, n) => n + 1,
) as [number, number, number, number, number, number, number, number, number, number, number, number]

function numberOfRows(footer: Buffer): bigint {
  let at = 0
  const varint = (): bigint => {
    let value = 0n
    for (let shift = 0n; ; shift += 7n) {
      const one = footer[at++]!
      value |= BigInt(one & 0x7f) << shift
      if (one < 0x80) return value
    }
  }
  const zigzag = (): bigint => {
    const value = varint()
    return (value >> 1n) ^ -(value & 1n)
  }
  function skip(type: number, inList = false): void {
    if (type === bool_true || type === bool_false) at += inList ? 1 : 0
    else if (type === byte) at += 1
    else if (type === i16 || type === i32 || type === i64) varint()
    else if (type === double) at += 8
    else if (type === binary) skipBytes(Number(varint()))
    else if (type === list || type === set) skipList()
    else if (type === struct) eachField((_field, of) => skip(of))
    else throw new Error(`a footer with a field of type ${type === map ? 'map' : type}`)
  }
  // `at` is read after the length was.
  const skipBytes = (length: number) => {
    at += length
  }
  function skipList(): void {
    const head = footer[at++]!
    const size = head >> 4 === 15 ? Number(varint()) : head >> 4
    for (let n = 0; n < size; n += 1) skip(head & 15, true)
  }
  function eachField(take: (field: number, type: number) => void): void {
    for (let field = 0; ; ) {
      const head = footer[at++]!
      if (head === 0) return
      field = head >> 4 === 0 ? Number(zigzag()) : field + (head >> 4)
      take(field, head & 15)
    }
  }
  let rows = 0n
  eachField((field, type) => {
    if (field === 3) rows = zigzag()
    else skip(type)
  })
  return rows
}
