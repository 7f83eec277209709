import { z } from 'zod'
import { platforms } from './event/envelope.ts'
import { limits } from './limits.ts'

/** Shapes of `/admin/api/v1`, which are also what the CLI prints with `--json` (docs/rules.md#commands). */
export const plans = ['free', 'growth', 'scale', 'unlimited'] as const
export type Plan = (typeof plans)[number]

/** Events per UTC month; null is unlimited (docs/rules.md#quota). */
export const planQuota: Record<Plan, number | null> = {
  free: 1_000_000,
  growth: 50_000_000,
  scale: 1_000_000_000,
  unlimited: null,
}

/** No control characters (PostgreSQL refuses U+0000); by number, for readers of docs/openapi.json that know no `\\P{Cc}`. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this refuses
const printable = /^[^\u0000-\u001f\u007f-\u009f]*$/

const text = (max: number) => z.string().max(max).regex(printable, 'must not hold control characters')
const name = z.string().trim().min(1).max(200).regex(printable, 'must not hold control characters')

const ownQuota = z
  .number()
  .int()
  .min(0)
  .max(Number.MAX_SAFE_INTEGER)
  .optional()
  .describe('Events per UTC month, instead of those of the plan.')

export const CreateCompany = z.strictObject({ name, plan: z.enum(plans).default('free'), monthly_quota: ownQuota })
export type CreateCompany = z.infer<typeof CreateCompany>

export const ChangeCompany = z.strictObject({
  plan: z.enum(plans).optional().describe('Brings its quota, unless `monthly_quota` is given too.'),
  monthly_quota: ownQuota,
})
export type ChangeCompany = z.infer<typeof ChangeCompany>

export const Company = z.object({
  company_id: z.string(),
  company_key: z.string(),
  name: z.string(),
  plan: z.enum(plans),
  monthly_quota: z.number().int().nullable().describe('Events per UTC month; null is unlimited.'),
  status: z.enum(['active', 'suspended']),
  created_at_ms: z.number().int(),
})
export type Company = z.infer<typeof Company>

export const CompanyList = z.object({ companies: z.array(Company) })

export const CompanyCreated = Company.pick({ company_id: true, company_key: true, plan: true, monthly_quota: true })
export type CompanyCreated = z.infer<typeof CompanyCreated>

export const CompanyStatus = Company.pick({ company_id: true, status: true })
export type CompanyStatus = z.infer<typeof CompanyStatus>

export const CompanyUsage = z.object({
  company_id: z.string(),
  month: z.string().describe('`yyyy-mm`, UTC.'),
  used: z.number().int().describe('Accepted events of the month.'),
  rejected: z.number().int().describe('Rejected events of the month, which may be as many as the quota.'),
  monthly_quota: z.number().int().nullable(),
})
export type CompanyUsage = z.infer<typeof CompanyUsage>

const appSettings = {
  bundle_id: text(256).optional().describe('Bundle identifier or package name.'),
  store_id: text(64).optional().describe('Id in the store.'),
  provider_token: text(64).optional().describe('Provider token of App Store Connect.'),
}

export const CreateApp = z.strictObject({ company_id: z.string(), name, platform: z.enum(platforms), ...appSettings })
export type CreateApp = z.infer<typeof CreateApp>

export const ChangeApp = z.strictObject({ name: name.optional(), ...appSettings })
export type ChangeApp = z.infer<typeof ChangeApp>

/** An app as it is now, without its signing secret. */
export const App = z.object({
  app_id: z.string(),
  company_id: z.string(),
  app_key: z.string(),
  name: z.string(),
  platform: z.enum(platforms),
  bundle_id: z.string().nullable(),
  store_id: z.string().nullable(),
  provider_token: z.string().nullable(),
  created_at_ms: z.number().int(),
  old_secrets_end_ms: z
    .array(z.number().int())
    .describe('When each old signing secret that is still valid ends, Unix epoch ms; empty without a rotation.'),
})
export type App = z.infer<typeof App>

export const AppList = z.object({ apps: z.array(App) })

export const AppCreated = z.object({
  app_id: z.string(),
  app_key: z.string(),
  signing_secret: z.string().describe('Shown here only.'),
})
export type AppCreated = z.infer<typeof AppCreated>

export const RotateSecret = z.strictObject({
  overlap_hours: z
    .number()
    .int()
    .min(0)
    .max(limits.secret_overlap_hours_max)
    .default(limits.secret_overlap_hours_default)
    .describe('How long the secret of today stays valid; 0 ends it and every older one at once.'),
})

export const SecretRotated = App.extend({ signing_secret: z.string().describe('The new one; shown here only.') })
export type SecretRotated = z.infer<typeof SecretRotated>

/** What a server key may do: send events, read reports and installs. */
export const keyScopes = ['events:write', 'reports:read'] as const
export type KeyScope = (typeof keyScopes)[number]

export const CreateServerKey = z.strictObject({
  app_id: z.string(),
  label: name,
  allowed_events: z.array(text(128).min(1)).max(200).default([]).describe('Event names; empty: all.'),
  scopes: z
    .array(z.enum(keyScopes))
    .min(1)
    .max(keyScopes.length)
    .default([...keyScopes])
    .describe('What the key may do; all by default.'),
})
export type CreateServerKey = z.input<typeof CreateServerKey>

export const ServerKeyCreated = z.object({
  key_id: z.string(),
  key: z.string().describe('`srv_` and 48 hex characters; shown here only.'),
  label: z.string(),
  allowed_events: z.array(z.string()),
})
export type ServerKeyCreated = z.infer<typeof ServerKeyCreated>

export const ServerKey = z.object({
  key_id: z.string(),
  label: z.string(),
  allowed_events: z.array(z.string()),
  scopes: z.array(z.enum(keyScopes)),
  display: z.string().describe('First and last four characters: `srv_1a2b...9f8e`.'),
  status: z.enum(['active', 'revoked']),
  created_at_ms: z.number().int(),
})
export type ServerKey = z.infer<typeof ServerKey>

export const ServerKeyList = z.object({ keys: z.array(ServerKey) })

export const ServerKeyStatus = ServerKey.pick({ key_id: true, status: true })
export type ServerKeyStatus = z.infer<typeof ServerKeyStatus>

/** How a rotation of the master key ended. */
export const MasterKeyRotated = z.object({
  key_id: z.string().describe('id of the master key that encrypts from now on: the start of its SHA-256'),
  rotated: z.number().int().describe('secrets that were encrypted again'),
  unreadable: z.number().int().describe('secrets that none of the given keys decrypts; they are left as they are'),
})
export type MasterKeyRotated = z.infer<typeof MasterKeyRotated>

/** What a file of exchange rates held: `from` and `to` are its first and last day. */
export const FxLoaded = z.object({
  days: z.number().int(),
  currencies: z.number().int(),
  rates: z.number().int(),
  from: z.iso.date(),
  to: z.iso.date(),
})
export type FxLoaded = z.infer<typeof FxLoaded>

/** Dead letters that wait, by topic and reason; `too_large` are those that can't be retried. */
export const DeadLetters = z.object({
  dead: z.array(
    z.object({
      topic: z.string().describe('The topic that the records came from.'),
      reason: z.string(),
      count: z.number().int(),
      first_ms: z.number().int().describe('When the oldest of them became a dead letter.'),
      last_ms: z.number().int().describe('When the newest of them became a dead letter.'),
    }),
  ),
})
export type DeadLetters = z.infer<typeof DeadLetters>

export const RetryDeadLetters = z.strictObject({
  topic: text(249).min(1).optional().describe('Only records of this topic.'),
  reason: text(249).min(1).optional().describe('Only letters with this reason.'),
})
export type RetryDeadLetters = z.infer<typeof RetryDeadLetters>

export const DeadLettersRetried = z.object({
  retried: z.number().int().describe('Records that were published to their topics again.'),
  too_large: z
    .number()
    .int()
    .optional()
    .describe('Letters without their record, which stay; absent when there are none.'),
})
export type DeadLettersRetried = z.infer<typeof DeadLettersRetried>

export const StartReplay = z.strictObject({
  source: z.enum(['log', 'audit']).describe('Where the events are read: the event log, or the audit objects.'),
  since_ms: z
    .number()
    .int()
    .min(0)
    .max(Date.UTC(2100, 0, 1))
    .optional()
    .describe('Only what came at or after this time, Unix epoch ms.'),
  app_id: z.string().optional().describe('Only this app.'),
  dry_run: z.boolean().default(false).describe('Only count.'),
})
export type StartReplay = z.infer<typeof StartReplay>

/** One line of the answer to `POST /replays`. */
export const ReplayProgress = z.object({
  state: z
    .enum(['waiting', 'running', 'done', 'stopped', 'failed'])
    .describe('`waiting`: the writer has events to write first. The last line is `done`, `stopped` or `failed`.'),
  replayed: z.number().int().describe('Events that were read.'),
  filled: z.number().int().describe('Events that were missing and were put into the log again (`dry_run`: would be).'),
  unknown: z.number().int().describe('The sum of `unknown_reasons`.'),
  unknown_reasons: z.record(z.string(), z.number().int()).describe('What the source can not tell; docs/operations.md.'),
  at: z.string().describe('How far it has come, in words.'),
  percent: z.number().int().min(0).max(100).describe('How much of the source was read, rounded down.'),
  seconds: z.number().int().min(0).describe('Since it started.'),
  error: z.string().optional().describe('Code of `failed`.'),
})
export type ReplayProgress = z.infer<typeof ReplayProgress>

/** The things that a process depends on, such as `database` or `queues`. */
const Bindings = z.record(z.string(), z.object({ status: z.enum(['ok', 'down']), latency_ms: z.number() }))

export const SystemStatus = z.object({
  ready: z.boolean(),
  consumers: z.array(
    z.object({
      name: z.string(),
      topic: z.string(),
      lag: z.number().int().describe('Records not yet committed, all partitions.'),
      oldest_unwritten_ms: z
        .number()
        .int()
        .nullable()
        .describe('Age of the oldest record not yet written; null at lag 0.'),
    }),
  ),
  bindings: Bindings,
  instance: z
    .string()
    .optional()
    .describe('Standalone: another one for each start; `start.json` of its data folder holds the same.'),
})
export type SystemStatus = z.infer<typeof SystemStatus>

/** 200 of `/health`: the process lives. */
export const HealthReply = z.object({
  status: z.enum(['ok', 'degraded']),
  bindings: Bindings,
  troubles: z
    .array(
      z.object({
        code: z.string(),
        message: z
          .string()
          .optional()
          .describe('For operators: absent behind a proxy, or outside `TRIBUTARY_ADMIN_NETWORKS`.'),
        mend: z.string().optional().describe('What to do about it, a command where there is one.'),
      }),
    )
    .optional()
    .describe('What is wrong in the process itself, such as `disk_full`; absent when nothing is.'),
})
export type HealthReply = z.infer<typeof HealthReply>

/** 200 and 503 of `/ready`. */
export const ReadyReply = z.object({ ready: z.boolean() })
