import { z } from 'zod'
import { isCurrency } from '../currencies.ts'
import { rejectReasons } from '../errors.ts'
import { limits } from '../limits.ts'
import { type EventFieldKind, type EventFieldName, eventFieldNames, eventFields } from './event-fields.ts'

const text = (max: number) => z.string().max(max)
const absent = <T extends z.ZodType>(schema: T) => schema.nullish()

/** JSON depth of a value; a scalar is 0, `{}` is 1. Iterative, so a hostile depth can't exhaust the stack. */
function jsonDepth(value: unknown, stop_at: number): number {
  let level: unknown[] = [value]
  let depth = 0
  while (level.length > 0 && depth <= stop_at) {
    const next: unknown[] = []
    for (const item of level) {
      if (typeof item === 'object' && item !== null) {
        next.push(item)
      }
    }
    if (next.length === 0) return depth
    depth += 1
    level = next.flatMap((item) => Object.values(item as object))
  }
  return depth
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const isBounded = (value: unknown): boolean =>
  isObject(value) &&
  jsonDepth(value, limits.object_depth_max) <= limits.object_depth_max &&
  Buffer.byteLength(JSON.stringify(value)) <= limits.object_json_bytes_max

const boundedObject = z.custom<Record<string, unknown>>(isBounded)

/** A receipt has bounds of its own: one beyond them is cut out of the accepted event (docs/receipts.md#the-receipt-of-an-event). */
const boundedProps = z.custom<Record<string, unknown>>((value) => {
  if (!isObject(value)) return false
  const { receipt: _receipt, ...rest } = value
  return isBounded(rest)
})

/** Other top-level fields are kept, so they are bounded: each in depth, all together in bytes. */
const boundExtra = (event: Record<string, unknown>, context: z.RefinementCtx): void => {
  let bytes = 2
  for (const [field, value] of Object.entries(event)) {
    if (Object.hasOwn(eventFields, field)) continue
    const tooDeep = jsonDepth(value, limits.object_depth_max) > limits.object_depth_max
    if (!tooDeep) bytes += Buffer.byteLength(`${JSON.stringify(field)}:${JSON.stringify(value)}`)
    if (tooDeep || bytes > limits.extra_json_bytes_max) context.addIssue({ code: 'custom', path: [field] })
    bytes += 1
  }
}

const schemas = {
  event_id: absent(z.string().regex(/^[\x21-\x7e]{1,128}$/)),
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this refuses
  event_name: text(limits.event_name_chars_max).regex(/^[^\u0000-\u001f\u007f-\u009f]+$/),
  event_time: absent(z.number().refine(Number.isInteger).meta({ type: 'integer', minimum: limits.event_ts_ms_min })),
  install_uuid: z.string().regex(/^[A-Za-z0-9_-]{1,64}$/),
  text: absent(text(limits.optional_string_chars_max)),
  revenue: absent(z.number().min(-limits.revenue_abs_max).max(limits.revenue_abs_max)),
  currency: absent(z.string().refine(isCurrency)),
  object: absent(boundedObject),
} satisfies Record<EventFieldKind, z.ZodType>

type NamedFields = { [Name in EventFieldName]: (typeof schemas)[(typeof eventFields)[Name]['kind']] }

/** The named fields of one event, whose descriptions stand in the API documentation; others are allowed beside them. */
export const NamedEventFields = z.looseObject(
  Object.fromEntries(
    eventFieldNames.map((name) => {
      const { kind, description } = eventFields[name]
      const schema = name === 'props' ? absent(boundedProps) : schemas[kind]
      return [name, schema.describe(description)]
    }),
  ) as NamedFields,
)

/**
 * The fields of one event, SDK or backend (docs/rules.md#events). The range of `event_ts_ms`
 * depends on the clock and is checked elsewhere. The gateway runs the hand-written twin in `domain/src/accept`; a property
 * test holds both equal.
 */
export const EventFields = z.intersection(
  z.custom<Record<string, unknown>>(isObject).superRefine(boundExtra),
  NamedEventFields,
)
export type EventFields = z.infer<typeof EventFields>

/** One line of `results`. `event_id` is null when the item carried none that could be echoed. */
export const EventResult = z.object({
  event_id: z.string().nullable(),
  status: z.enum(['accepted', 'rejected']).describe('Duplicates are `accepted`: the work of the client is done.'),
  reason: z
    .string()
    .optional()
    .describe(`Why an event was rejected: ${rejectReasons.join(', ')}. Sent again, it would be rejected again.`),
  field: z.string().optional().describe('The field that was wrong.'),
  message: z.string().optional().describe('What was wrong, for people. It may change.'),
})
export type EventResult = z.infer<typeof EventResult>

/** 200 of `/event` and `/s2s/events/bulk`. */
export const BatchReply = z.object({
  accepted: z.number().int(),
  rejected: z.number().int(),
  results: z.array(EventResult).describe('One for each event, in the order of the request.'),
  audit_key: z.string().describe('The audit object that holds the request.'),
})
export type BatchReply = z.infer<typeof BatchReply>

/** 200 of `/s2s/event`. */
export const ServerEventReply = z.object({ accepted: z.literal(1), event_id: z.string(), audit_key: z.string() })
export type ServerEventReply = z.infer<typeof ServerEventReply>
