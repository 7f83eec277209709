import { dayFolders, objectsIn, requestDays, sdkDays, serverApps } from '@tributary/audit-store/audit-days'
import type { AuditStore } from '@tributary/audit-store/audit-store'
import { objectLines } from '@tributary/audit-store/object-lines'
import { readAhead } from '@tributary/audit-store/read-ahead'
import type { RequestSource } from '@tributary/contracts/envelope'
import { serverEventAuditKeys } from '@tributary/domain/audit-name'
import { utcDay } from '@tributary/domain/utc-day'
import type { Pause } from '@tributary/service-kit/service/pauses'
import type { AppFacts } from '@tributary/tenancy/companies/tenants'
import { type AuditedRequest, readRequest, toEnvelopes } from './audited-request.ts'
import type { ReadEnvelope } from './missing-events.ts'
import type { Tally } from './tally.ts'

interface ReadAuditDeps {
  audit: Pick<AuditStore, 'list' | 'get'>
  apps: ReadonlyMap<string, AppFacts>
  since_ms: number
  app_id: string | undefined
  tally: Tally
  signal: AbortSignal
  pause: Pause
}

/** Objects that are fetched at the same time; each is of a few MiB at most. */
const objects_ahead = 8
/** Given on together: one look-up is of that size, and memory is bounded by it. */
const group_events = 5000
const group_bytes = 4 * 1024 * 1024

/**
 * Gives the accepted events of the audit store to `onRead`, an app and a day after the other, those of a day in no
 * order; `onDay` is called behind each day. Memory is bounded whatever the store holds.
 */
export async function readAudit(
  deps: ReadAuditDeps,
  onRead: (read: ReadEnvelope[]) => Promise<void>,
  onDay: () => Promise<void>,
): Promise<void> {
  const { audit, apps, app_id, since_ms, tally } = deps
  const first_day = utcDay(since_ms)
  const days = await sdkDays(audit, first_day, app_id)
  const found = app_id === undefined ? [...days.keys(), ...(await serverApps(audit))] : [app_id]
  const plan: { app: AppFacts & { app_id: string }; day: string }[] = []
  for (const id of new Set(found)) {
    const facts = apps.get(id)
    if (facts === undefined) {
      tally.doubt('app_gone')
      continue
    }
    for (const day of await requestDays(audit, days, id, first_day)) plan.push({ app: { app_id: id, ...facts }, day })
  }
  for (const [index, { app, day }] of plan.entries()) {
    tally.reached(index, plan.length, `day ${index + 1} of ${plan.length}: ${day} of ${app.app_id}`)
    await readDay(deps, app, day, onRead)
    await onDay()
  }
  tally.reached(plan.length, plan.length, `${plan.length} of ${plan.length} days`)
}

async function readDay(
  deps: ReadAuditDeps,
  app: AppFacts & { app_id: string },
  day: string,
  onRead: (read: ReadEnvelope[]) => Promise<void>,
): Promise<void> {
  let group: ReadEnvelope[] = []
  let bytes = 0
  let events = 0
  for await (const { envelopes, size } of requestsOf(deps, app, day)) {
    deps.signal.throwIfAborted()
    group.push(...envelopes)
    bytes += size
    events += envelopes.reduce((sum, { envelope }) => sum + envelope.events.length, 0)
    if (events < group_events && bytes < group_bytes) continue
    await onRead(group)
    group = []
    bytes = 0
    events = 0
  }
  await onRead(group)
}

async function* requestsOf(deps: ReadAuditDeps, app: AppFacts & { app_id: string }, day: string) {
  for (const { source, folder } of dayFolders(app.app_id, app.company_id, day)) {
    const objects = readAhead(objectsIn(deps.audit, folder), objects_ahead, async ({ key, read }) => ({
      key,
      content: await read(),
    }))
    for await (const { key, content } of objects) {
      for await (const { request, audit_key, size } of readObject(deps, { source, key, content, app_id: app.app_id })) {
        await deps.pause()
        if (request.received_at_ms < deps.since_ms) continue
        try {
          yield { envelopes: toEnvelopes(request, { ...app, source, audit_key }, deps.tally), size }
        } catch {
          deps.tally.doubt('unreadable_object')
        }
      }
    }
  }
}

interface Fetched {
  source: RequestSource
  key: string | null
  content: Buffer | null
  app_id: string
}

/** The requests in one object, up to the first that is none. */
async function* readObject(
  { audit, tally }: ReadAuditDeps,
  { source, key, content, app_id }: Fetched,
): AsyncGenerator<{ request: AuditedRequest; audit_key: string; size: number }> {
  if (content === null) return tally.doubt('unreadable_object')
  try {
    if (source === 'sdk') {
      for await (const line of objectLines(content)) {
        yield { request: readRequest(line), audit_key: key!, size: line.length }
      }
      return
    }
    const request = readRequest(content)
    const audit_key = key?.slice(app_id.length + 1) ?? (await hashedKey(audit, app_id, request, content))
    yield { request, audit_key, size: content.length }
  } catch (error) {
    if (error instanceof StoreAway) throw error.cause
    tally.doubt('unreadable_object')
  }
}

class StoreAway extends Error {}

/** The audit key of a backend event whose name was too long for the store: one of two, and their objects differ. */
async function hashedKey(
  audit: Pick<AuditStore, 'get'>,
  app_id: string,
  { received_at_ms, event_id = '', body_sha256 = '' }: AuditedRequest,
  content: Buffer,
): Promise<string> {
  for (const audit_key of serverEventAuditKeys({ received_at_ms, event_id, body_sha256 })) {
    const stored = await audit.get(`${app_id}/${audit_key}`).catch((cause: unknown) => {
      throw new StoreAway('the audit store is away', { cause })
    })
    if (stored?.equals(content)) return audit_key
  }
  throw new Error('the object lies under a name that is not its own')
}
