import {
  App,
  AppCreated,
  AppList,
  ChangeApp,
  ChangeCompany,
  Company,
  CompanyCreated,
  CompanyList,
  CompanyStatus,
  CompanyUsage,
  CreateApp,
  CreateCompany,
  CreateServerKey,
  DeadLetters,
  DeadLettersRetried,
  FxLoaded,
  HealthReply,
  MasterKeyRotated,
  ReadyReply,
  ReplayProgress,
  RetryDeadLetters,
  RotateSecret,
  SecretRotated,
  ServerKeyCreated,
  ServerKeyList,
  ServerKeyStatus,
  StartReplay,
  SystemStatus,
} from '@tributary/contracts/admin'
import { ErasureAsked, ErasureReply } from '@tributary/contracts/erasure'
import { BatchReply, NamedEventFields, ServerEventReply } from '@tributary/contracts/event'
import { limits } from '@tributary/contracts/limits'
import { EventsReport, InstallRecord } from '@tributary/contracts/reports'
import { z } from 'zod'

/** A field that may be absent elsewhere, as one that may not. */
const present = <T extends z.ZodType>(field: z.ZodOptional<z.ZodNullable<T>>): T =>
  (field.unwrap().unwrap() as T).describe(field.description ?? '')

const { event_id, event_ts_ms } = NamedEventFields.shape
const SdkEvent = NamedEventFields.extend({ event_id: present(event_id) })
const ServerEvent = NamedEventFields.extend({ event_ts_ms: present(event_ts_ms) })

/** What requests and answers hold, by the names that the document calls them. */
export const schemas = {
  SdkBatch: z.object({
    events: z.array(SdkEvent).min(1).max(limits.sdk_batch_events_max),
    sent_at_ms: z
      .number()
      .nullish()
      .describe('When this request was made, by the clock of the device: Unix epoch ms. Corrects install times.'),
  }),
  ServerEvent,
  ServerBulk: z.object({ events: z.array(ServerEvent).min(1).max(limits.bulk_events_max) }),
  BatchReply,
  ServerEventReply,
  ErasureAsked,
  ErasureReply,
  EventsReport,
  InstallRecord,
  CreateCompany,
  ChangeCompany,
  Company,
  CompanyCreated,
  CompanyList,
  CompanyStatus,
  CompanyUsage,
  CreateApp,
  ChangeApp,
  App,
  AppCreated,
  AppList,
  RotateSecret,
  SecretRotated,
  CreateServerKey,
  ServerKeyCreated,
  ServerKeyList,
  MasterKeyRotated,
  ServerKeyStatus,
  FxLoaded,
  DeadLetters,
  RetryDeadLetters,
  DeadLettersRetried,
  StartReplay,
  ReplayProgress,
  SystemStatus,
  HealthReply,
  ReadyReply,
} satisfies Record<string, z.ZodType>
export type SchemaName = keyof typeof schemas
