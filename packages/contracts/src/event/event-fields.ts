/**
 * How a value is accepted. Each kind has a schema in event.ts, a check and a scanner in `domain/src/accept`, which
 * properties hold equal. `text` and `object` are optional; a new field of one of these kinds is a line in `eventFields`.
 */
export type EventFieldKind =
  | 'event_id'
  | 'event_name'
  | 'event_time'
  | 'install_uuid'
  | 'text'
  | 'revenue'
  | 'currency'
  | 'object'

interface EventField {
  kind: EventFieldKind
  /**
   * Where `events_raw_v1` has it. `own`: a column of the field's name holds it, empty when absent. `made`: rules of
   * `domain/event-row` make columns of it. `extra`: no column, it is kept with the fields that nobody named.
   */
  column: 'own' | 'made' | 'extra'
  /** Stands in the API documentation. */
  description: string
}

/** The fields of one event that have a name, SDK or backend. Others are allowed beside them. */
export const eventFields = {
  event_id: {
    kind: 'event_id',
    column: 'made',
    description:
      'Idempotency key: visible ASCII. Events with the same `event_id` and install, on the same or neighbouring UTC days, count once, for ever.',
  },
  event_name: {
    kind: 'event_name',
    column: 'made',
    description: 'Name of the event, without control characters.',
  },
  event_ts_ms: {
    kind: 'event_time',
    column: 'made',
    description:
      'When it happened: Unix epoch ms, from 2010 to 24 h ahead of the clock of the service. An event of an app that lacks it is dated when it is received: sent again two days later, it counts twice.',
  },
  install_uuid: {
    kind: 'install_uuid',
    column: 'made',
    description:
      'The install, as its SDK made it at the first launch. A backend uses that value, never one of its own.',
  },
  user_id: {
    kind: 'text',
    column: 'own',
    description: "The customer's own id of the user; ties the install to it.",
  },
  transaction_id: {
    kind: 'text',
    column: 'own',
    description:
      'Transaction of the store or payment. Its money counts once per app and event name: that of a backend before that of an app, else the first one received. Events of one request are received at once: among those of one install the first line counts.',
  },
  product_id: { kind: 'text', column: 'own', description: 'The product that was bought.' },
  revenue: {
    kind: 'revenue',
    column: 'made',
    description:
      'Amount of money in `currency`; USD when that is absent. For `subscription_refunded` and `purchase_refunded` its absolute value is subtracted.',
  },
  currency: {
    kind: 'currency',
    column: 'made',
    description: 'Currency of `revenue`: ISO 4217 alpha-3, any case; USD when absent. `XTS` and `XXX` are refused.',
  },
  props: {
    kind: 'object',
    column: 'own',
    description:
      'Free-form properties: at most 16 KiB as JSON, 8 levels deep. `receipt` is a receipt of the App Store or Google Play and may have 32 KiB more: the store confirms the money (docs/receipts.md). A larger one is cut out, and the event accepted. Numbers are 64-bit floating-point: send ids above 2^53 as text. Of install events, attribution reads `install_referrer` (the text of the Play Store), `referrer_click_server_s`, `install_begin_server_s` and `click_id`.',
  },
  device: {
    kind: 'object',
    column: 'own',
    description:
      'Facts about the device, as SDKs send them. Same bounds as `props`. Of install events, attribution reads `os_version`, `model` and the ids `gaid`, `app_set_id`, `idfa` and `idfv`; of those that a backend sends also `ip`.',
  },
  platform: {
    kind: 'text',
    column: 'extra',
    description: '`ios` or `android`. A backend must name the platform of its key, or nothing.',
  },
} as const satisfies Record<string, EventField>
export type EventFieldName = keyof typeof eventFields
export const eventFieldNames = Object.keys(eventFields) as EventFieldName[]

/** Names of the fields of a kind that have a column of their own. */
export type OwnColumn<Kind extends EventFieldKind> = {
  [Name in EventFieldName]: (typeof eventFields)[Name] extends { kind: Kind; column: 'own' } ? Name : never
}[EventFieldName]
export const ownColumns = <Kind extends EventFieldKind>(kind: Kind): OwnColumn<Kind>[] =>
  eventFieldNames.filter(
    (name): name is OwnColumn<Kind> => eventFields[name].kind === kind && eventFields[name].column === 'own',
  )

interface EnvelopeField {
  /** envelope.ts has the schema of each kind, decode-envelope.ts its hand-written twin. */
  kind: 'id' | 'platform' | 'source' | 'text' | 'later_text' | 'time' | 'client_time'
  description?: string
}

/**
 * The fields that the events of one request share, one field a column of the same name. A reader meets records that were written
 * before a field was added: give a new one a kind that may be absent.
 */
export const envelopeFields = {
  company_id: { kind: 'id' },
  app_id: { kind: 'id' },
  platform: { kind: 'platform', description: 'Platform of the app, whatever the events say.' },
  source: { kind: 'source', description: '/event, /s2s/event, /s2s/events/bulk, or a store itself.' },
  install_uuid: { kind: 'text', description: 'The install of all events in here.' },
  received_at_ms: { kind: 'time', description: "Unix epoch ms, the gateway's clock." },
  sent_at_ms: { kind: 'client_time', description: "Unix epoch ms, the client's clock; never trusted." },
  ip: { kind: 'text', description: 'Address of the client.' },
  user_agent: { kind: 'text', description: 'Empty when absent.' },
  country: {
    kind: 'later_text',
    description:
      'ISO 3166-1 alpha-2 of the sender, or of the `device.ip` of the events of a backend, looked up when they were received; empty when unknown. Absent: by a gateway that looked up none.',
  },
  sdk: { kind: 'text', description: 'X-Service-Sdk, empty when absent.' },
  sdk_platform: { kind: 'text', description: 'X-Service-Platform, empty when absent. Stored, never trusted.' },
  audit_key: { kind: 'text', description: 'The audit object that holds the request.' },
} as const satisfies Record<string, EnvelopeField>
export type EnvelopeFieldName = keyof typeof envelopeFields
export const envelopeFieldNames = Object.keys(envelopeFields) as EnvelopeFieldName[]
