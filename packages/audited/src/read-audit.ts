import { type AppDay, dayFolders, objectsIn, requestDays, sdkDays, serverApps } from '@tributary/audit-store/audit-days'
import type { AuditStore } from '@tributary/audit-store/audit-store'
import { utcDay } from '@tributary/domain/utc-day'
import type { Pause } from '@tributary/service-kit/service/pauses'
import type { AppFacts } from '@tributary/tenancy/companies/tenants'
import type { ReadEnvelope } from './missing-events.ts'
import { readRequests } from './read-requests.ts'
import { audit_group_ms_max, type Progress } from './reading.ts'

interface ReadAuditDeps {
  audit: Pick<AuditStore, 'list' | 'get'>
  apps: ReadonlyMap<string, AppFacts>
  since_ms: number
  app_id: string | undefined
  tally: Progress
  signal: AbortSignal
  pause: Pause
  /** Which days of an app are read; all by default. */
  isWanted?: (day: AppDay) => boolean
}

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
  onDay: (day: AppDay) => Promise<void>,
): Promise<void> {
  const { audit, apps, app_id, since_ms, tally, isWanted = () => true } = deps
  const first_day = utcDay(since_ms - audit_group_ms_max)
  const days = await sdkDays(audit, first_day, app_id)
  const found = app_id === undefined ? [...days.keys(), ...(await serverApps(audit))] : [app_id]
  const plan: { app: AppFacts & { app_id: string }; day: string }[] = []
  for (const id of new Set(found)) {
    const facts = apps.get(id)
    if (facts === undefined) {
      tally.doubt('app_gone')
      continue
    }
    for (const day of await requestDays(audit, days, id, first_day)) {
      if (isWanted({ app_id: id, day })) plan.push({ app: { app_id: id, ...facts }, day })
    }
  }
  for (const [index, { app, day }] of plan.entries()) {
    tally.reached(index, plan.length, `day ${index + 1} of ${plan.length}: ${day} of ${app.app_id}`)
    await readDay(deps, app, day, onRead)
    await onDay({ app_id: app.app_id, day })
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
  const { audit, tally: reading, pause, signal, since_ms } = deps
  async function* requests() {
    for (const { source, folder } of dayFolders(app.app_id, app.company_id, day)) {
      const chosen = { app, source, objects: objectsIn(audit, folder) }
      yield* readRequests({ audit, reading, pause }, chosen, (received_at_ms) => received_at_ms >= since_ms)
    }
  }
  for await (const { envelopes, size } of requests()) {
    signal.throwIfAborted()
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
