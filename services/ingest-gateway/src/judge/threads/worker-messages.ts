import type { ErrorCode } from '@tributary/contracts/errors'
import type { WireBody } from '../read-body.ts'
import type { Judged, Kind } from './judges.ts'

/** A task of the thread. Messages are copied, so a Buffer arrives as a Uint8Array. */
export interface Task extends WireBody {
  kind: Kind
  input: Judged[Kind]['input']
  /** What the body may inflate to this time. */
  bytes_max: number
}

/** The answer of the thread: one for each task. */
export type Answer =
  | { judged: unknown }
  /** It inflates to more than `bytes_max`, and its judge takes more. */
  | 'larger'
  | { fault: { code: ErrorCode; field?: string; message: string; cause?: string } }

/** A copied value with its bytes as Buffers again. Maps, tables of addresses, texts and numbers stay as they are. */
export function fromThread(value: unknown): unknown {
  if (value instanceof Uint8Array) return Buffer.from(value.buffer, value.byteOffset, value.byteLength)
  if (ArrayBuffer.isView(value)) return value
  if (Array.isArray(value)) return value.map(fromThread)
  if (typeof value !== 'object' || value === null || value instanceof Map) return value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, fromThread(member)]))
}
