import type { AuditStore } from './audit-store.ts'

export interface GroupCommitOptions {
  store: Pick<AuditStore, 'putOnce' | 'group_rest_ms'>
  now: () => number
  /** The longest that a request waits for others before its object is written. */
  linger_ms: number
  /** A group that would pass this is written and a new one begun; one larger member is an object of its own. */
  bytes_max: number
  /** Random per start: names never come twice. */
  gateway: string
  /** Calls `fire` after `ms`; returns a function that calls it off. For tests. */
  setTimer?: (fire: () => void, ms: number) => () => void
}

export interface Appended {
  audit_key: string
  /** Resolves when the object that holds the member is durable, rejects when it may not be. */
  durable: Promise<void>
}

export interface GroupCommit {
  /** `member` is one gzip member or several: members in a row are one gzip file. */
  append(entry: { company_id: string; app_id: string; received_at_ms: number; member: Buffer }): Appended
  /** Writes what is open; resolves when nothing is under way. */
  close(): Promise<void>
}

interface Group {
  audit_key: string
  folder: string
  members: Buffer[]
  bytes: number
  opened_ms: number
  cancelTimer: () => void
  durable: PromiseWithResolvers<void>
}

/** One per app that ever sent, never dropped: without the last start a burst could not be told from an idle app. */
interface Lane {
  group: Group | null
  writing: number
  last_start_ms: number
}

/** How long an app rests between two objects when the store declares nothing: each costs a file and two syncs. */
const rest_ms_default = 10

const setTimerDefault = (fire: () => void, ms: number) => {
  const timer = setTimeout(fire, ms)
  return () => clearTimeout(timer)
}

/**
 * Lets the requests of one app share audit objects (docs/rules.md#audit-objects). The object of an idle app is written
 * at once. That of a busy app is written after its last write has ended and a rest has passed, `linger_ms` at most.
 */
export function createGroupCommit(options: GroupCommitOptions): GroupCommit {
  const { store, now, linger_ms, bytes_max, gateway, setTimer = setTimerDefault } = options
  const { group_rest_ms = rest_ms_default } = store
  const lanes = new Map<string, Lane>()
  const writes = new Set<Promise<void>>()
  let objects = 0
  let closed = false

  function openGroup(folder: string, received_at_ms: number): Group {
    objects += 1
    const durable = Promise.withResolvers<void>()
    // A request that ended before its object did must not turn a failed write into an unhandled rejection.
    durable.promise.catch(() => {})
    const audit_key = `${folder}/${received_at_ms}-${gateway}-${objects}.jsonl.gz`
    return { audit_key, folder, members: [], bytes: 0, opened_ms: now(), cancelTimer: () => {}, durable }
  }

  /** Due when the lane has rested, at the latest `linger_ms` after opening; behind a write under way only the latter. */
  function schedule(lane: Lane, group: Group) {
    const left_ms = group.opened_ms + linger_ms - now()
    const rest_ms = lane.last_start_ms + group_rest_ms - now()
    const wait_ms = lane.writing > 0 ? left_ms : Math.min(rest_ms, left_ms)
    group.cancelTimer()
    // Bounded both ways, since the clock may be set.
    group.cancelTimer = setTimer(() => write(lane), Math.min(Math.max(0, wait_ms), linger_ms))
  }

  function write(lane: Lane) {
    const { group } = lane
    if (group === null) return
    group.cancelTimer()
    lane.group = null
    lane.writing += 1
    lane.last_start_ms = now()
    const done = put(group).finally(() => {
      writes.delete(done)
      lane.writing -= 1
      if (lane.group !== null) schedule(lane, lane.group)
    })
    writes.add(done)
  }

  async function put({ audit_key, members, durable }: Group): Promise<void> {
    try {
      const outcome = await store.putOnce(audit_key, members.length === 1 ? members[0]! : Buffer.concat(members))
      if (outcome === 'exists') throw new Error(`audit object ${audit_key} exists already`)
      durable.resolve()
    } catch (error) {
      durable.reject(error)
    }
  }

  return {
    append({ company_id, app_id, received_at_ms, member }) {
      if (closed) throw new Error('the audit groups are closed')
      const folder = `audit/${datePath(received_at_ms)}/${company_id}/${app_id}`
      const name = `${company_id}/${app_id}`
      const lane = lanes.get(name) ?? { group: null, writing: 0, last_start_ms: Number.NEGATIVE_INFINITY }
      lanes.set(name, lane)
      const open = lane.group
      if (open !== null && (open.folder !== folder || open.bytes + member.length > bytes_max)) write(lane)
      if (lane.group === null) {
        lane.group = openGroup(folder, received_at_ms)
        schedule(lane, lane.group)
      }
      const { group } = lane
      group.members.push(member)
      group.bytes += member.length
      if (group.bytes >= bytes_max) write(lane)
      return { audit_key: group.audit_key, durable: group.durable.promise }
    },
    async close() {
      closed = true
      for (const lane of lanes.values()) write(lane)
      await Promise.all(writes)
    },
  }
}

/** UTC date as `yyyy/mm/dd`. */
const datePath = (ms: number): string => new Date(ms).toISOString().slice(0, 10).replaceAll('-', '/')
