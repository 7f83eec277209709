/** The rights of a service on a table; `select` names the columns, `*` is all of them. */
export interface Rights {
  select: readonly string[] | '*'
  also?: readonly ('INSERT' | 'UPDATE' | 'DELETE')[]
  /** The only columns that it may change. */
  update?: readonly string[]
}

/** What a service does that decrypts secrets: it checks its master key and watches the ids of the keys of all secrets. */
const masterKeyRights = {
  master_key_check: { select: '*', also: ['INSERT'] },
  link_secrets: { select: ['app_id', 'key_id'] },
  company_salts: { select: ['company_id', 'key_id'] },
} as const satisfies Record<string, Rights>

/** Columns of apps that are no signing secret, and the id of its master key. */
const openAppColumns = ['app_id', 'company_id', 'platform', 'signing_secret_key_id'] as const

/** Rights of a consumer that drops erased records: it reads tombstones, and the salts that they are hashed with. */
const erasedRights = {
  schema_migrations: { select: '*' },
  apps: { select: openAppColumns }, // not the signing secrets
  ...masterKeyRights,
  company_salts: { select: '*' },
  tombstones: { select: '*' },
} as const satisfies Record<string, Rights>

/** Rights of a consumer whose batches get times of storing. It may begin an epoch, and locks the clock while it gets one. */
const stampRights = {
  raw_clock: { select: '*', update: ['epoch'] },
  raw_stamps: { select: '*', also: ['INSERT', 'UPDATE'] },
} as const satisfies Record<string, Rights>

/** Rights of a writer of audit objects, which tells retention of late ones. */
const lateDaysRights = {
  blanking: { select: '*' },
  late_days: { select: '*', also: ['INSERT', 'UPDATE'] },
} as const satisfies Record<string, Rights>

/** Rights of attribution: settings and the marks of retention besides. */
const attributionRights = {
  ...erasedRights,
  attribution_settings: { select: '*' },
  companies: { select: ['company_id', 'clicks_deleted_before'] },
} as const satisfies Record<string, Rights>

/**
 * Each service that works on PostgreSQL, and all that it may do there: a table that is not named is closed to it.
 * A new table needs its lines here.
 */
export const serviceRoles = {
  'ingest-gateway': {
    schema_migrations: { select: '*' },
    companies: { select: '*' },
    apps: { select: '*' },
    old_signing_secrets: { select: '*' },
    server_keys: { select: '*' },
    cv_schemas: { select: '*' },
    cost_numbers: { select: '*', also: ['UPDATE'] }, // a sequence: UPDATE takes the next number
    ...masterKeyRights,
    ...lateDaysRights,
  },
  'link-gateway': {
    schema_migrations: { select: '*' },
    companies: { select: ['company_id', 'status'] },
    apps: { select: [...openAppColumns, 'bundle_id', 'store_id', 'provider_token'] }, // not the signing secrets
    links: { select: '*' },
    ...masterKeyRights,
    link_secrets: { select: '*', also: ['INSERT'] },
    company_salts: { select: '*', also: ['INSERT'] },
  },
  'postback-gateway': {
    schema_migrations: { select: '*' },
    apps: {
      select: [
        ...(['app_id', 'company_id', 'app_key', 'platform', 'bundle_id'] as const), // no secrets
        ...(['google_push_audience', 'google_push_email'] as const),
      ],
    },
  },
  'event-writer': {
    ...erasedRights,
    ...stampRights,
    erased_objects: { select: '*', also: ['INSERT', 'UPDATE'] },
  },
  'click-writer': {
    ...attributionRights,
    ...stampRights,
    ...lateDaysRights,
    redecisions: { select: '*', also: ['INSERT', 'UPDATE'] },
  },
  'install-finder': {
    ...attributionRights,
    link_secrets: { select: '*', also: ['INSERT'] }, // the first service that needs a secret makes it
    company_salts: { select: '*', also: ['INSERT'] },
  },
  'install-attributor': {
    ...attributionRights,
    redecisions: { select: '*', also: ['INSERT', 'UPDATE', 'DELETE'] },
    upgrade_jobs: { select: '*', also: ['INSERT', 'UPDATE'] },
  },
  'install-writer': { ...erasedRights, ...stampRights },
  'postback-forwarder': {
    ...erasedRights,
    partner_postbacks: { select: '*' },
    partner_secrets: { select: '*' },
    due_postbacks: { select: '*', also: ['INSERT', 'UPDATE', 'DELETE'] },
  },
  'receipt-validator': {
    ...erasedRights,
    apps: { select: [...openAppColumns, 'bundle_id'] }, // not the signing secrets
    apple_keys: { select: '*' },
    google_accounts: { select: '*' },
    fx_rates: { select: '*' },
    due_receipts: { select: '*', also: ['INSERT', 'UPDATE', 'DELETE'] },
    store_answers: { select: '*', also: ['INSERT', 'UPDATE', 'DELETE'] },
    raw_clock: { select: '*', update: ['epoch'] }, // a lock needs the right to change something
    verdict_stamps: { select: '*', also: ['INSERT', 'UPDATE'] },
    joined_claims: { select: '*', also: ['INSERT', 'UPDATE'] },
    store_purchases: { select: '*', also: ['INSERT'], update: ['install_uuid'] },
    waiting_notifications: { select: '*', also: ['INSERT', 'DELETE'] },
  },
  eraser: {
    ...erasedRights,
    due_receipts: { select: '*', also: ['DELETE'] },
    store_purchases: { select: '*', update: ['install_uuid'] },
    due_postbacks: { select: '*', also: ['UPDATE', 'DELETE'] },
    company_salts: { select: '*', also: ['INSERT'] },
    tombstones: { select: '*', also: ['INSERT'] },
    erasure_requests: { select: '*', also: ['INSERT', 'UPDATE'] },
    erasure_runs: { select: '*', also: ['INSERT', 'UPDATE'] },
    erasure_batches: { select: '*', also: ['INSERT', 'UPDATE', 'DELETE'] },
    erasure_clicks: { select: '*', also: ['INSERT', 'DELETE'] },
    erased_objects: { select: '*', also: ['DELETE'] },
    unreadable_objects: { select: '*', also: ['INSERT', 'UPDATE', 'DELETE'] },
    redecisions: { select: '*', also: ['INSERT', 'UPDATE'] },
    raw_clock: { select: '*', update: ['epoch'] }, // a lock needs the right to change something
    raw_erasures: { select: '*', also: ['INSERT', 'DELETE'] },
  },
  replayer: {
    ...erasedRights,
    companies: { select: ['company_id', 'clicks_deleted_before'] },
    jobs: { select: '*', also: ['UPDATE', 'DELETE'] },
  },
  reconciler: {
    ...erasedRights,
    companies: { select: ['company_id', 'clicks_deleted_before'] },
    jobs: { select: '*', also: ['UPDATE', 'DELETE'] },
    reconciled_hours: { select: '*', also: ['INSERT', 'UPDATE', 'DELETE'] },
    reconcile_differences: { select: '*', also: ['INSERT', 'UPDATE', 'DELETE'] },
  },
  retention: {
    schema_migrations: { select: '*' },
    companies: { select: '*', also: ['UPDATE'] },
    apps: { select: ['app_id', 'company_id'] },
    erasure_requests: { select: ['app_id', 'install_uuid', 'mark_ms', 'emptied_at_ms'] },
    erasure_batches: { select: ['app_id'] },
    retention_runs: { select: '*', also: ['INSERT', 'UPDATE'] },
    jobs: { select: '*', also: ['UPDATE', 'DELETE'] },
    blanking: { select: '*', also: ['UPDATE'] },
    late_days: { select: '*', also: ['DELETE'] },
  },
  settler: {
    schema_migrations: { select: '*' },
    jobs: { select: '*', also: ['UPDATE', 'DELETE'] },
  },
  'report-api': {
    schema_migrations: { select: '*' },
    companies: { select: '*' },
    apps: {
      select: [
        'app_id',
        'company_id',
        'name',
        'platform',
        'store_id',
        'owns_store_id',
        'development_keys',
        'valid_receipts_only',
      ], // no secrets
    },
    server_keys: { select: '*' },
    cv_schemas: { select: '*' },
    fx_rates: { select: '*' },
    links: { select: ['link_id', 'app_id', 'partner'] },
    raw_clock: { select: '*', update: ['sealed_ms'] },
    raw_stamps: { select: '*' },
    verdict_stamps: { select: '*' },
    raw_erasures: { select: '*' },
    admin_audit_log: { select: ['id'], also: ['INSERT'] }, // look-ups of people
    people: { select: ['person_id', 'email'] }, // no password
    memberships: { select: '*' },
    sessions: {
      select: ['session_hash', 'session_id', 'person_id', 'complete', 'began_at', 'seen_at', 'proven_at', 'proven_by'],
      update: ['seen_at'],
    },
  },
  'admin-api': {
    due_receipts: { select: '*', update: ['next_try_ms'] },
    schema_migrations: { select: '*' },
    companies: { select: '*', also: ['INSERT', 'UPDATE'] },
    apps: { select: '*', also: ['INSERT', 'UPDATE'] },
    old_signing_secrets: { select: '*', also: ['INSERT', 'UPDATE', 'DELETE'] },
    server_keys: { select: '*', also: ['INSERT', 'UPDATE'] },
    fx_rates: { select: '*', also: ['INSERT', 'UPDATE'] },
    master_key_check: { select: '*', also: ['INSERT', 'UPDATE'] },
    links: { select: '*', also: ['INSERT', 'UPDATE'] },
    cv_schemas: { select: '*', also: ['INSERT'] },
    cost_numbers: { select: '*', also: ['UPDATE'] }, // a sequence: UPDATE takes the next number
    attribution_settings: { select: '*', also: ['INSERT'] },
    partner_postbacks: { select: '*', also: ['INSERT'] },
    partner_secrets: { select: '*', also: ['INSERT', 'UPDATE'] },
    apple_keys: { select: '*', also: ['INSERT', 'UPDATE', 'DELETE'] },
    google_accounts: { select: '*', also: ['INSERT', 'UPDATE', 'DELETE'] },
    due_postbacks: { select: '*', also: ['INSERT', 'UPDATE'] },
    link_secrets: { select: '*', also: ['UPDATE', 'DELETE'] },
    company_salts: { select: '*', also: ['INSERT', 'UPDATE', 'DELETE'] },
    saved_views: { select: '*', also: ['INSERT', 'UPDATE', 'DELETE'] },
    day_notes: { select: '*', also: ['INSERT', 'DELETE'] },
    erasure_requests: { select: '*', also: ['INSERT', 'UPDATE'] },
    erasure_runs: { select: '*', also: ['INSERT'] },
    jobs: { select: '*', also: ['INSERT', 'UPDATE'] },
    unreadable_objects: { select: '*' },
    redecisions: { select: '*' },
    attention_notices: { select: '*', also: ['INSERT', 'UPDATE', 'DELETE'] },
    reconcile_differences: { select: '*' },
    admin_audit_log: { select: '*', also: ['INSERT', 'DELETE'] }, // a trigger refuses what is younger than two years
    people: { select: '*', also: ['INSERT', 'UPDATE', 'DELETE'] },
    memberships: { select: '*', also: ['INSERT', 'UPDATE', 'DELETE'] },
    sessions: { select: '*', also: ['INSERT', 'UPDATE', 'DELETE'] },
    known_browsers: { select: '*', also: ['INSERT', 'UPDATE', 'DELETE'] },
    one_time_links: { select: '*', also: ['INSERT', 'DELETE'] },
    identities: { select: '*', also: ['INSERT', 'DELETE'] },
    totp_secrets: { select: '*', also: ['INSERT', 'UPDATE', 'DELETE'] },
    totp_offers: { select: '*', also: ['INSERT', 'UPDATE', 'DELETE'] },
    recovery_codes: { select: '*', also: ['INSERT', 'DELETE'] },
  },
} as const satisfies Record<string, Record<string, Rights>>
export type PostgresService = keyof typeof serviceRoles

/** Name of the role of a service: `tributary_report_api`. */
export const roleOf = (service: PostgresService): string => `tributary_${service.replaceAll('-', '_')}`
