import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { openFolderAuditStore } from '@tributary/audit-store/folder'
import { day_ms } from '@tributary/contracts/limits'
import { rewriteAudit } from '@tributary/erasure/audit/rewrite-audit'
import { rewrittenAt } from '@tributary/erasure/audit/rewritten-mark'
import { days, first_ms } from '../reports/model.ts'

/** Events of a request, about 500 bytes each. */
const events_of_request = 20
/** Requests of an object: now and then several come within the time of a group (docs/rules.md#audit-objects). */
const requests_of_object = 2
/** Objects of an install to erase: one that it shares with another install, one that holds it alone. */
export const objects_of_install = 2

export interface ObjectsToFill {
  dir: string
  company_id: string
  app_id: string
  /** Objects in all. */
  objects: number
  /** Installs that two of the objects each hold. */
  erased: readonly string[]
}

/** An object that holds an install. */
interface Holding {
  path: string
  install_uuid: string
  /** Whether it holds another install too. */
  shared: boolean
}

/**
 * Fills the audit folder of an app as gateways do, spread over the days of its events. Returns the objects that hold an install to
 * erase: these lie evenly among the others.
 */
export async function fillObjects({ dir, company_id, app_id, objects, erased }: ObjectsToFill): Promise<Holding[]> {
  const folders = Array.from({ length: days }, (_, day) => {
    const date = new Date(first_ms + day * day_ms).toISOString().slice(0, 10)
    return join(dir, 'audit', date.replaceAll('-', '/'), company_id, app_id)
  })
  for (const folder of folders) await mkdir(folder, { recursive: true })
  const holdings: Holding[] = []
  const every = Math.max(1, Math.floor(objects / (erased.length * objects_of_install)))
  let writes: Promise<void>[] = []
  for (let n = 0; n < objects; n += 1) {
    const day = Math.floor((n * days) / objects)
    const path = join(folders[day]!, `${first_ms + day * day_ms + n}-bench-${n}.jsonl.gz`)
    const install_uuid = n % every === 0 ? erased[Math.floor(n / every / objects_of_install)] : undefined
    const shared = Math.floor(n / every) % 2 === 0
    if (install_uuid !== undefined) holdings.push({ path, install_uuid, shared })
    const installs = Array.from({ length: requests_of_object }, (_, i) =>
      install_uuid === undefined || (shared && i > 0) ? `other-${n}-${i}` : install_uuid,
    )
    const members = installs.map((uuid, i) => gzipSync(lineOf(uuid, first_ms + day * day_ms, n + i)))
    writes.push(writeFile(path, Buffer.concat(members)))
    if (writes.length === 100) {
      await Promise.all(writes)
      writes = []
    }
  }
  await Promise.all(writes)
  return holdings
}

/** A request as the gateway audits it. */
function lineOf(install_uuid: string, received_at_ms: number, n: number): string {
  const events = Array.from({ length: events_of_request }, (_, i) => ({
    ...{
      event_id: `${n}-${i}-${install_uuid}`,
      event_name: `level_${i}`,
      event_ts_ms: received_at_ms - i,
      install_uuid,
    },
    user_id: `player-${n}`,
    props: {
      level: i,
      score: n * 7 + i,
      mode: 'ranked',
      items: ['sword', 'shield'],
      session: `${n}`,
      foreground: true,
    },
    device: { os: 'android', os_version: '14', model: 'Pixel 8 Pro', locale: 'de-DE', memory_mb: 11_842 },
  }))
  const headers = { 'user-agent': 'UnityPlayer/6000.0.23f1', 'x-service-sdk': 'unity-2.1.0' }
  return `${JSON.stringify({ received_at_ms, ip: '203.0.113.7', headers, body: { sent_at_ms: received_at_ms, events } })}\n`
}

/** Seconds in which an eraser reads all objects of an app, and finds nothing to erase. */
export async function readObjects(dir: string, company_id: string, app_id: string): Promise<number> {
  const audit = await openFolderAuditStore({ dir })
  const started = performance.now()
  const installs = [{ install_uuid: 'of-no-object', mark_ms: Date.now() }]
  const { signal } = new AbortController()
  await rewriteAudit({ audit, company_id, app_id, installs, now: Date.now, signal })
  const seconds = (performance.now() - started) / 1000
  await audit.close()
  return seconds
}

/** Objects that still hold an install, or that lost a line of another one. An object may be left without any line. */
export async function countWrong(holdings: readonly Holding[]): Promise<number> {
  let wrong = 0
  for (const { path, install_uuid, shared } of holdings) {
    const object = await readFile(path)
    const text = gunzipSync(object).toString()
    const right = shared ? text.includes('"other-') && !text.includes(install_uuid) : text === ''
    if (!right || rewrittenAt(object) === null) wrong += 1
  }
  return wrong
}
