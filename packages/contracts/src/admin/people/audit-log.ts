import { z } from 'zod'
import { limits } from '../../limits.ts'
import type { Routes } from '../../routes/route.ts'
import { created_at_ms, text } from '../admin-fields.ts'
import { managers } from './roles.ts'

export const AuditEntry = z.object({
  id: z.number().int(),
  at_ms: z.number().int(),
  actor: z.string().describe('The email of a person, or the admin token.'),
  person_id: z.string().nullable(),
  ip: z.string().nullable(),
  action: z.string(),
  subject: z.string().describe('What it was done to.'),
  company_id: z.string().nullable().describe('null for what is above companies.'),
  before: z.record(z.string(), z.unknown()).nullable(),
  after: z.record(z.string(), z.unknown()),
  request_id: z.string(),
})
export type AuditEntry = z.infer<typeof AuditEntry>

const time = z.coerce
  .number()
  .int()
  .min(0)
  .max(Date.UTC(2100, 0, 1))
  .optional()
const name = text(300).optional()

const query = z.object({
  company_id: name.meta({ description: 'Entries of this company; absent: all, for operators.', example: 'co_1' }),
  since_ms: time.meta({ description: 'Unix epoch ms.', example: created_at_ms }),
  until_ms: time.meta({ description: 'Exclusive.', example: created_at_ms + 86_400_000 }),
  actor: name.meta({ description: 'Exactly this actor.', example: 'ada@example.com' }),
  action: name.meta({
    description: 'This action, or all that begin with it: `key` finds `key.create`.',
    example: 'key',
  }),
  subject: name.meta({ description: 'Exactly this subject.', example: 'key_1' }),
  before_id: z.coerce
    .number()
    .int()
    .min(1)
    .max(Number.MAX_SAFE_INTEGER)
    .optional()
    .meta({ description: 'Older entries than this one: `next_before_id` of the answer before.', example: 100 }),
  limit: z.coerce
    .number()
    .int()
    .min(1)
    .max(limits.audit_log_page_max)
    .default(100)
    .meta({ description: 'Entries of an answer as JSON.', example: 100 }),
  format: z.enum(['json', 'csv']).default('json').meta({ description: 'CSV has all entries.', example: 'json' }),
})
export type AuditLogQuery = z.infer<typeof query>

/** The route of the audit log. */
export const auditLogRoutes = {
  readAuditLog: {
    method: 'GET',
    path: '/admin/api/v1/audit-log',
    auth: 'admin',
    roles: [...managers, 'operator'],
    over: 'company of query',
    tag: 'Admin',
    summary: 'Who did what',
    description: `Every change by a person or the token, the newest first, for two years. CSV has at most ${limits.audit_log_csv_max} entries.`,
    query,
    answers: {
      200: {
        schema: {
          AuditLog: z.object({
            entries: z.array(AuditEntry),
            next_before_id: z.number().int().nullable().describe('null: there are no older ones.'),
          }),
        },
        form: 'json or csv',
        description: 'The entries.',
        example: {
          entries: [
            {
              ...{ id: 7, at_ms: created_at_ms, actor: 'ada@example.com', person_id: 'per_1', ip: '192.0.2.7' },
              ...{ action: 'link.disable', subject: 'link_1', company_id: 'co_1' },
              ...{ before: { status: 'enabled' }, after: { status: 'disabled' }, request_id: 'r-1' },
            },
          ],
          next_before_id: null,
        },
      },
    },
    errors: ['unknown_company'],
  },
} satisfies Routes
