import { hash, randomBytes } from 'node:crypto'
import type { AppCreated, CreateApp } from '@tributary/contracts/admin/apps'
import {
  type ChangeCompany,
  type Company,
  type CompanyCreated,
  type CompanyStatus,
  type CreateCompany,
  planQuota,
  Retention,
} from '@tributary/contracts/admin/companies'
import {
  type CreateServerKey,
  defaultScopes,
  keyScopes,
  type ServerKey,
  type ServerKeyCreated,
  type ServerKeyStatus,
} from '@tributary/contracts/admin/server-keys'
import type { Platform } from '@tributary/contracts/envelope'
import { CodedError, type ErrorCode } from '@tributary/contracts/errors'
import { inTransaction } from '@tributary/postgres/transaction'
import type { Pool } from 'pg'
import type { MasterKeys } from '../secrets/master-keys.ts'
import { type AdminRequest, recordAdminAction } from './admin-audit.ts'
import { claimingStoreId, mustFitStore } from './store-id.ts'

/** A signing secret: 256 random bits. */
export const makeSigningSecret = (): string => randomBytes(32).toString('hex')

const id = (prefix: string) => `${prefix}_${randomBytes(10).toString('hex')}`
const idShape = /^(co|app|key)_[0-9a-f]{20}$/

/** Makes a company. Without its own quota it has that of its plan (docs/rules.md#quota). */
export function createCompany(pool: Pool, input: CreateCompany, request: AdminRequest): Promise<CompanyCreated> {
  const company: CompanyCreated = {
    company_id: id('co'),
    company_key: `co_live_${randomBytes(16).toString('hex')}`,
    plan: input.plan,
    monthly_quota: input.monthly_quota === undefined ? planQuota[input.plan] : input.monthly_quota,
  }
  const { company_id, company_key, plan, monthly_quota } = company
  return inTransaction(pool, async (client) => {
    await client.query(
      `INSERT INTO companies (company_id, company_key, name, plan, monthly_quota, created_at)
       VALUES ($1, $2, $3, $4, $5, to_timestamp($6 / 1000.0))`,
      [company_id, company_key, input.name, plan, monthly_quota, request.now_ms],
    )
    const detail = { name: input.name, plan, monthly_quota }
    await recordAdminAction(client, request, { action: 'company.create', subject: company_id, detail })
    return company
  })
}

const companySql = `SELECT company_id, company_key, name, plan, monthly_quota, status, keep_ip_days, keep_click_days,
  keep_raw_days, floor(extract(epoch FROM created_at) * 1000)::text AS created_at_ms FROM companies`

/** bigint comes as text. */
type CompanyRow = Company & { monthly_quota: string | null; created_at_ms: string }

const toCompany = (row: CompanyRow): Company => ({
  ...row,
  monthly_quota: row.monthly_quota === null ? null : Number(row.monthly_quota),
  created_at_ms: Number(row.created_at_ms),
})

/** All companies, oldest first. */
export async function listCompanies(pool: Pool): Promise<Company[]> {
  const { rows } = await pool.query<CompanyRow>(`${companySql} ORDER BY companies.created_at, company_id`)
  return rows.map(toCompany)
}

/** Throws `unknown_company`. */
export async function getCompany(client: Pick<Pool, 'query'>, company_id: string): Promise<Company> {
  mustHaveIdShape(company_id, 'unknown_company')
  const { rows } = await client.query<CompanyRow>(`${companySql} WHERE company_id = $1`, [company_id])
  if (rows[0] === undefined) throw new CodedError('unknown_company')
  return toCompany(rows[0])
}

/**
 * Changes the given fields only; without any, it logs nothing. A new plan sets its quota, unless a quota is given too
 * (docs/decisions/door.md#a-plan-brings-its-quota).
 */
export function changeCompany(
  pool: Pool,
  company_id: string,
  { plan, monthly_quota, ...retention }: ChangeCompany,
  request: AdminRequest,
): Promise<Company> {
  mustHaveIdShape(company_id, 'unknown_company')
  const quota = monthly_quota === undefined && plan !== undefined ? planQuota[plan] : monthly_quota
  return inTransaction(pool, async (client) => {
    await client.query('SELECT 1 FROM companies WHERE company_id = $1 FOR NO KEY UPDATE', [company_id])
    const before = await getCompany(client, company_id)
    await client.query(
      `UPDATE companies SET plan = coalesce($2, plan), monthly_quota = CASE WHEN $3 THEN $4 ELSE monthly_quota END,
         keep_ip_days = coalesce($5, keep_ip_days), keep_click_days = coalesce($6, keep_click_days),
         keep_raw_days = CASE WHEN $7 THEN $8 ELSE keep_raw_days END
       WHERE company_id = $1`,
      [
        ...[company_id, plan, quota !== undefined, quota, retention.keep_ip_days, retention.keep_click_days],
        ...[retention.keep_raw_days !== undefined, retention.keep_raw_days],
      ],
    )
    const company = await getCompany(client, company_id)
    const kept = Object.values(retention).some((given) => given !== undefined)
    const shown = (of: Company) => ({
      plan: of.plan,
      monthly_quota: of.monthly_quota,
      ...(kept && Retention.parse(of)),
    })
    const entry = { action: 'company.set', subject: company_id, before: shown(before), detail: shown(company) }
    if (plan !== undefined || quota !== undefined || kept) await recordAdminAction(client, request, entry)
    return company
  })
}

/** The company of every app. */
export async function listAppCompanies(pool: Pick<Pool, 'query'>): Promise<Map<string, string>> {
  const { rows } = await pool.query<{ app_id: string; company_id: string }>('SELECT app_id, company_id FROM apps')
  return new Map(rows.map(({ app_id, company_id }) => [app_id, company_id]))
}

/** The facts of an app that decide what a replay makes of its data. */
export interface AppFacts {
  company_id: string
  platform: Platform
  /** Retention has deleted the clicks before this time, Unix epoch ms; 0 if none. */
  clicks_deleted_before_ms: number
}

/** SQL of `clicks_deleted_before_ms`, of companies `c`. */
export const clicksDeletedBeforeSql = 'coalesce(extract(epoch FROM c.clicks_deleted_before) * 1000, 0)::float8'

/** Retention has deleted the clicks of a company before this time, Unix epoch ms; 0 if none. */
export async function findClicksDeletedBefore(pool: Pick<Pool, 'query'>, company_id: string): Promise<number> {
  const { rows } = await pool.query<{ before_ms: number }>(
    `SELECT ${clicksDeletedBeforeSql} AS before_ms FROM companies c WHERE company_id = $1`,
    [company_id],
  )
  return rows[0]?.before_ms ?? 0
}

export async function listAppFacts(pool: Pool): Promise<Map<string, AppFacts>> {
  const { rows } = await pool.query<AppFacts & { app_id: string }>(
    `SELECT a.app_id, a.company_id, a.platform, ${clicksDeletedBeforeSql} AS clicks_deleted_before_ms
     FROM apps a JOIN companies c USING (company_id)`,
  )
  return new Map(rows.map(({ app_id, ...facts }) => [app_id, facts]))
}

/** Suspends or reinstates; a company that already has the status stays as it is, and nothing is logged. */
export function setCompanyStatus(
  pool: Pool,
  company_id: string,
  status: CompanyStatus['status'],
  request: AdminRequest,
): Promise<CompanyStatus> {
  mustHaveIdShape(company_id, 'unknown_company')
  return inTransaction(pool, async (client) => {
    const { rows } = await client.query('SELECT status FROM companies WHERE company_id = $1 FOR UPDATE', [company_id])
    if (rows.length === 0) throw new CodedError('unknown_company')
    if (rows[0].status !== status) {
      await client.query('UPDATE companies SET status = $2 WHERE company_id = $1', [company_id, status])
      const action = status === 'suspended' ? 'company.suspend' : 'company.reinstate'
      const entry = { action, subject: company_id, before: { status: rows[0].status }, detail: { status } }
      await recordAdminAction(client, request, entry)
    }
    return { company_id, status }
  })
}

/**
 * Makes an app. Only this answer shows its signing secret; the table holds it encrypted. Throws `invalid_field` for an
 * id that its store cannot have, and `store_id_taken`.
 */
export function createApp(
  pool: Pool,
  masterKeys: MasterKeys,
  input: CreateApp,
  request: AdminRequest,
): Promise<AppCreated> {
  const { company_id, name, platform, bundle_id = null, store_id = null, provider_token = null } = input
  mustFitStore(platform, store_id)
  mustHaveIdShape(company_id, 'unknown_company')
  const app_id = id('app')
  const app_key = `app_live_${randomBytes(16).toString('hex')}`
  const signing_secret = makeSigningSecret()
  const { key_id, iv, ciphertext, tag } = masterKeys.encrypt(signing_secret, {
    purpose: 'signing_secret',
    company_id,
    app_id,
  })
  return inTransaction(pool, async (client) => {
    const inserted = client.query(
      `INSERT INTO apps (app_id, company_id, app_key, name, platform, bundle_id, store_id, provider_token,
         signing_secret_key_id, signing_secret_iv, signing_secret_ciphertext, signing_secret_tag, created_at)
       SELECT $1, company_id, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, to_timestamp($13 / 1000.0)
       FROM companies WHERE company_id = $2`,
      [
        ...[app_id, company_id, app_key, name, platform, bundle_id, store_id, provider_token],
        ...[key_id, iv, ciphertext, tag, request.now_ms],
      ],
    )
    const { rowCount } = await claimingStoreId(inserted)
    if (rowCount === 0) throw new CodedError('unknown_company', { field: 'company_id' })
    const detail = { company_id, name, platform, bundle_id, store_id }
    await recordAdminAction(client, request, { action: 'app.create', subject: app_id, detail })
    return { app_id, app_key, signing_secret }
  })
}

/** Makes a server key. Only this answer shows the key; the table holds its SHA-256. */
export function createServerKey(pool: Pool, input: CreateServerKey, request: AdminRequest): Promise<ServerKeyCreated> {
  const { app_id, label } = input
  mustHaveIdShape(app_id, 'unknown_app')
  const scopes = keyScopes.filter((scope) => (input.scopes ?? defaultScopes).includes(scope))
  const key_id = id('key')
  const secret = randomBytes(24).toString('hex')
  const key = `srv_${secret}`
  const allowed_events = [...new Set(input.allowed_events ?? [])]
  return inTransaction(pool, async (client) => {
    const { rowCount } = await client.query(
      `INSERT INTO server_keys (key_id, app_id, key_sha256, key_first4, key_last4, label, allowed_events, scopes,
         created_at)
       SELECT $1, app_id, $3, $4, $5, $6, $7, $8, to_timestamp($9 / 1000.0) FROM apps WHERE app_id = $2`,
      [
        key_id,
        app_id,
        hash('sha256', key, 'buffer'),
        secret.slice(0, 4),
        secret.slice(-4),
        label,
        allowed_events,
        scopes,
        request.now_ms,
      ],
    )
    if (rowCount === 0) throw new CodedError('unknown_app', { field: 'app_id' })
    const detail = { app_id, label, allowed_events, scopes }
    await recordAdminAction(client, request, { action: 'key.create', subject: key_id, detail })
    return { key_id, key, label, allowed_events }
  })
}

/** The server keys of an app, revoked ones too, oldest first. */
export async function listServerKeys(pool: Pool, app_id: string): Promise<ServerKey[]> {
  mustHaveIdShape(app_id, 'unknown_app')
  const { rows } = await pool.query(
    `SELECT k.key_id, k.label, k.allowed_events, k.scopes, 'srv_' || k.key_first4 || '...' || k.key_last4 AS display,
            CASE WHEN k.revoked_at IS NULL THEN 'active' ELSE 'revoked' END AS status,
            floor(extract(epoch FROM k.created_at) * 1000)::text AS created_at_ms
     FROM apps a LEFT JOIN server_keys k USING (app_id) WHERE a.app_id = $1 ORDER BY k.created_at, k.key_id`,
    [app_id],
  )
  if (rows.length === 0) throw new CodedError('unknown_app', { field: 'app_id' })
  return rows
    .filter(({ key_id }) => key_id !== null)
    .map((row) => ({ ...row, created_at_ms: Number(row.created_at_ms) }))
}

/** Revokes a server key for good; one already revoked stays as it is, and nothing is logged. */
export function revokeServerKey(pool: Pool, key_id: string, request: AdminRequest): Promise<ServerKeyStatus> {
  mustHaveIdShape(key_id, 'unknown_key')
  return inTransaction(pool, async (client) => {
    const { rows } = await client.query('SELECT revoked_at FROM server_keys WHERE key_id = $1 FOR UPDATE', [key_id])
    if (rows.length === 0) throw new CodedError('unknown_key')
    if (rows[0].revoked_at === null) {
      await client.query('UPDATE server_keys SET revoked_at = to_timestamp($2 / 1000.0) WHERE key_id = $1', [
        key_id,
        request.now_ms,
      ])
      const [before, detail] = [{ status: 'active' }, { status: 'revoked' }]
      await recordAdminAction(client, request, { action: 'key.revoke', subject: key_id, before, detail })
    }
    return { key_id, status: 'revoked' }
  })
}

/** Throws `code` for an id that no row can have, so that it never reaches a query. */
export function mustHaveIdShape(text: string, code: ErrorCode): void {
  if (!idShape.test(text)) throw new CodedError(code)
}
