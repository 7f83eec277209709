import type { ErrorCode } from '@tributary/contracts/errors'
import { z } from 'zod'

/** Parts that the declarations of several routes share. */

const contentEncoding = z
  .enum(['gzip', 'identity'])
  .optional()
  .describe('`gzip` or `identity`. Several gzip members are one body.')

/** The headers of a request from a backend, besides its key. */
export const serverHeaders = z.object({ 'Content-Encoding': contentEncoding })

/** The headers of a request from an app, besides its keys and its signature. */
export const sdkHeaders = z.object({
  'Content-Encoding': contentEncoding,
  'X-Service-Sdk': z
    .string()
    .optional()
    .meta({ description: '`<brand>-<version>` of the SDK; stored with the events.', example: 'example-2.1.0' }),
  'X-Service-Platform': z
    .string()
    .optional()
    .meta({ description: 'Platform of the SDK; stored with the events, never trusted.', example: 'android' }),
})

/** The error codes that may answer the body of an app. */
export const sdkBodyErrors: readonly ErrorCode[] = [
  'request_timeout',
  'empty_body',
  'unsupported_encoding',
  'bad_gzip',
  'decompressed_too_large',
  'audit_write_failed',
]

/** The error codes that may answer the body of a backend. */
export const serverBodyErrors: readonly ErrorCode[] = [
  'request_timeout',
  'unsupported_encoding',
  'bad_gzip',
  's2s_app_platform_mismatch',
  'event_not_allowed_by_key',
  'cap_exceeded',
  'audit_write_failed',
]

/** Makes a field required that may be absent elsewhere. */
export const present = <T extends z.ZodType>(field: z.ZodOptional<z.ZodNullable<T>>): T =>
  (field.unwrap().unwrap() as T).describe(field.description ?? '')

/** The common fields of the events in examples. */
export const exampleEvent = {
  event_id: '5f0c1d9e-7a41-4c1b-9f3e-0d7f1c2a9b10',
  event_ts_ms: Date.UTC(2026, 5, 1, 12),
  install_uuid: '0b8f5c1e-2f64-4c7b-a1de-93f1f5f0a9c3',
}
