import { z } from 'zod'
import { platforms } from './envelope.ts'

/** Shapes of `/admin/api/v1`, which are also what the CLI prints with `--json` (commands.md). */
export const plans = ['free', 'growth', 'scale', 'unlimited'] as const
export type Plan = (typeof plans)[number]

/** Events per UTC month; null is unlimited (decisions.md "Quota"). */
export const planQuota: Record<Plan, number | null> = {
  free: 1_000_000,
  growth: 50_000_000,
  scale: 1_000_000_000,
  unlimited: null,
}

const name = z.string().trim().min(1).max(200)

export const CreateCompany = z.strictObject({
  name,
  plan: z.enum(plans).default('free'),
  monthly_quota: z.number().int().min(0).max(Number.MAX_SAFE_INTEGER).optional(),
})
export const Company = z.object({
  company_id: z.string(),
  company_key: z.string(),
  name: z.string(),
  plan: z.enum(plans),
  monthly_quota: z.number().int().nullable(),
  status: z.enum(['active', 'suspended']),
})
export const CompanyCreated = Company.pick({ company_id: true, company_key: true, plan: true, monthly_quota: true })
export const CompanyStatus = Company.pick({ company_id: true, status: true })

export const CreateApp = z.strictObject({
  company_id: z.string(),
  name,
  platform: z.enum(platforms),
  bundle_id: z.string().max(256).optional(),
  store_id: z.string().max(64).optional(),
  provider_token: z.string().max(64).optional(),
})
export const AppCreated = z.object({ app_id: z.string(), app_key: z.string(), signing_secret: z.string() })

export const CreateServerKey = z.strictObject({
  app_id: z.string(),
  label: name,
  /** Empty: all events. */
  allowed_events: z.array(z.string().min(1).max(128)).max(200).default([]),
})
export const ServerKeyCreated = z.object({
  key_id: z.string(),
  key: z.string(),
  label: z.string(),
  allowed_events: z.array(z.string()),
})
export const ServerKey = z.object({
  key_id: z.string(),
  label: z.string(),
  allowed_events: z.array(z.string()),
  /** First and last four characters: `srv_1a2b...9f8e`. */
  display: z.string(),
  status: z.enum(['active', 'revoked']),
  created_at_ms: z.number().int(),
})
export const ServerKeyStatus = ServerKey.pick({ key_id: true, status: true })

export const SystemStatus = z.object({
  ready: z.boolean(),
  consumers: z.array(
    z.object({
      name: z.string(),
      topic: z.string(),
      /** Records not yet committed, all partitions. */
      lag: z.number().int(),
      /** Age of the oldest record not yet written; null at lag 0. */
      oldest_unwritten_ms: z.number().int().nullable(),
    }),
  ),
  bindings: z.record(z.string(), z.object({ status: z.enum(['ok', 'down']), latency_ms: z.number() })),
})
export type SystemStatus = z.infer<typeof SystemStatus>
