/**
 * An upper bound of the bytes that `value` takes as UTF-8 JSON, Infinity when it nests deeper than `depth_max` (a scalar
 * has depth 0, `{}` has 1). Never recurses deeper than `depth_max`, so hostile nesting costs nothing.
 */
export function boundJson(value: unknown, depth_max: number): number {
  return typeof value === 'object' && value !== null ? boundNested(value, depth_max) : boundScalar(value)
}

/** Recurses for objects alone: a call for each scalar would double the cost of an event. */
function boundNested(value: object, depth_max: number): number {
  if (depth_max === 0) return Number.POSITIVE_INFINITY
  let bytes = 2
  if (Array.isArray(value)) {
    for (const item of value) {
      bytes += 1
      bytes += typeof item === 'object' && item !== null ? boundNested(item, depth_max - 1) : boundScalar(item)
    }
    return bytes
  }
  for (const key in value) {
    const item = (value as Record<string, unknown>)[key]
    bytes += boundString(key) + 2
    bytes += typeof item === 'object' && item !== null ? boundNested(item, depth_max - 1) : boundScalar(item)
  }
  return bytes
}

/** Longest of all numbers: -1.2345678901234567e-300. */
const number_bytes_max = 25

const boundScalar = (value: unknown): number => (typeof value === 'string' ? boundString(value) : number_bytes_max)

/** A UTF-16 unit becomes at most six bytes: `\u001f`. */
export const boundString = (text: string): number => text.length * 6 + 2

/** Exact bytes as UTF-8 JSON; for values whose depth is known to be small. */
export const jsonBytes = (value: unknown): number => Buffer.byteLength(JSON.stringify(value))
