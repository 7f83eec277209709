/**
 * An upper bound of the bytes that `value` takes as UTF-8 JSON, Infinity when it nests deeper than `depth_max` (a scalar
 * has depth 0, `{}` has 1). Never recurses deeper than `depth_max`, so hostile nesting costs nothing.
 */
export function boundJson(value: unknown, depth_max: number): number {
  if (typeof value === 'string') return boundString(value)
  if (typeof value !== 'object' || value === null) return 25 // -1.2345678901234567e-300
  if (depth_max === 0) return Number.POSITIVE_INFINITY
  let bytes = 2
  if (Array.isArray(value)) {
    for (const item of value) bytes += boundJson(item, depth_max - 1) + 1
    return bytes
  }
  for (const key in value) {
    bytes += boundString(key) + boundJson((value as Record<string, unknown>)[key], depth_max - 1) + 2
  }
  return bytes
}

/** A UTF-16 unit becomes at most six bytes: `\u001f`. */
export const boundString = (text: string): number => text.length * 6 + 2

/** Exact bytes as UTF-8 JSON; for values whose depth is known to be small. */
export const jsonBytes = (value: unknown): number => Buffer.byteLength(JSON.stringify(value))
