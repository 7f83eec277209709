/** The rights of a service on a table; `select` names the columns, `*` is all of them. */
export interface Rights {
  select: readonly string[] | '*'
  also?: readonly ('INSERT' | 'UPDATE' | 'DELETE')[]
}

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
    master_key_check: { select: '*', also: ['INSERT'] },
  },
  'report-api': {
    schema_migrations: { select: '*' },
    companies: { select: '*' },
    apps: { select: ['app_id', 'company_id', 'platform'] }, // not the signing secrets
    server_keys: { select: '*' },
    fx_rates: { select: '*' },
  },
  'admin-api': {
    schema_migrations: { select: '*' },
    companies: { select: '*', also: ['INSERT', 'UPDATE'] },
    apps: { select: '*', also: ['INSERT', 'UPDATE'] },
    old_signing_secrets: { select: '*', also: ['INSERT', 'UPDATE', 'DELETE'] },
    server_keys: { select: '*', also: ['INSERT', 'UPDATE'] },
    fx_rates: { select: '*', also: ['INSERT', 'UPDATE'] },
    master_key_check: { select: '*', also: ['INSERT', 'UPDATE'] },
    admin_audit_log: { select: '*', also: ['INSERT'] },
  },
} as const satisfies Record<string, Record<string, Rights>>
export type PostgresService = keyof typeof serviceRoles

/** Name of the role of a service: `tributary_report_api`. */
export const roleOf = (service: PostgresService): string => `tributary_${service.replaceAll('-', '_')}`
