import { day_ms } from '@tributary/contracts/limits'
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
  /** Folder of an owner's objects on a day (`yyyy/mm/dd`); `audit/<day>/<owner>` when absent. */
  folderOf?: (day: string, owner: string) => string
  /** Minimum time between two objects of a busy owner, where the store declares none. */
  rest_ms?: number
  /** Makes an object of its members; without it they stand in a row. A failure is that of the write. */
  pack?: (members: readonly Buffer[]) => Buffer | Promise<Buffer>
  /** Calls `fire` after `ms`; returns a function that calls it off. For tests. */
  setTimer?: (fire: () => void, ms: number) => () => void
}

export interface Appended {
  audit_key: string
  /** Resolves when the object that holds the member is durable, rejects when it may not be. */
  durable: Promise<void>
}

export interface GroupCommit {
  /**
   * Requests of one `owner` share objects; events name their app as `<company_id>/<app_id>`. `member` is one gzip member or
   * several: members in a row are one gzip file. With `pack` it is what that takes.
   */
  append(entry: { owner: string; received_at_ms: number; member: Buffer }): Appended
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

/** The writes of one owner. Never dropped: the start of the last write tells a burst from an idle owner. */
interface OwnerWrites {
  group: Group | null
  writing: number
  last_start_ms: number
}

/** How long an owner rests between two objects when the store declares nothing: each costs a file and two syncs. */
const rest_ms_default = 10

const setTimerDefault = (fire: () => void, ms: number) => {
  const timer = setTimeout(fire, ms)
  return () => clearTimeout(timer)
}

const folderOfApp = (day: string, owner: string) => `audit/${day}/${owner}`

/**
 * Lets the requests of one owner (an app) share audit objects (docs/rules.md#audit-objects). The object of an idle owner is
 * written at once. That of a busy one is written after its last write has ended and a rest has passed, `linger_ms` at most.
 */
export function createGroupCommit(options: GroupCommitOptions): GroupCommit {
  const { store, now, linger_ms, bytes_max, gateway, folderOf = folderOfApp, setTimer = setTimerDefault } = options
  const datePath = createDatePath()
  const { group_rest_ms = options.rest_ms ?? rest_ms_default } = store
  const owners = new Map<string, OwnerWrites>()
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

  /** A group is due when its owner has rested, at the latest `linger_ms` after it was opened. While a write is under way, only the latter counts. */
  function schedule(writer: OwnerWrites, group: Group) {
    const left_ms = group.opened_ms + linger_ms - now()
    const rest_ms = writer.last_start_ms + group_rest_ms - now()
    const wait_ms = writer.writing > 0 ? left_ms : Math.min(rest_ms, left_ms)
    group.cancelTimer()
    // Bounded both ways, since the clock may be set.
    group.cancelTimer = setTimer(() => write(writer), Math.min(Math.max(0, wait_ms), linger_ms))
  }

  function write(writer: OwnerWrites) {
    const { group } = writer
    if (group === null) return
    group.cancelTimer()
    writer.group = null
    writer.writing += 1
    writer.last_start_ms = now()
    const done = put(group).finally(() => {
      writes.delete(done)
      writer.writing -= 1
      if (writer.group !== null) schedule(writer, writer.group)
    })
    writes.add(done)
  }

  async function put({ audit_key, members, durable }: Group): Promise<void> {
    try {
      const content = options.pack ? await options.pack(members) : inARow(members)
      const outcome = await store.putOnce(audit_key, content)
      if (outcome === 'exists') throw new Error(`audit object ${audit_key} exists already`)
      durable.resolve()
    } catch (error) {
      durable.reject(error)
    }
  }

  return {
    append({ owner, received_at_ms, member }) {
      if (closed) throw new Error('the audit groups are closed')
      const folder = folderOf(datePath(received_at_ms), owner)
      const writer = owners.get(owner) ?? { group: null, writing: 0, last_start_ms: Number.NEGATIVE_INFINITY }
      owners.set(owner, writer)
      const open = writer.group
      if (open !== null && (open.folder !== folder || open.bytes + member.length > bytes_max)) write(writer)
      if (writer.group === null) {
        writer.group = openGroup(folder, received_at_ms)
        schedule(writer, writer.group)
      }
      const { group } = writer
      group.members.push(member)
      group.bytes += member.length
      if (group.bytes >= bytes_max) write(writer)
      return { audit_key: group.audit_key, durable: group.durable.promise }
    },
    async close() {
      closed = true
      for (const writer of owners.values()) write(writer)
      await Promise.all(writes)
    },
  }
}

const inARow = (members: readonly Buffer[]): Buffer => (members.length === 1 ? members[0]! : Buffer.concat(members))

/** Makes the function that gives the UTC date of a time as `yyyy/mm/dd`. It remembers one day: a new text for each request costs more. */
function createDatePath(): (ms: number) => string {
  let known = { day: Number.NaN, path: '' }
  return (ms) => {
    const day = Math.floor(ms / day_ms)
    if (day !== known.day) known = { day, path: new Date(ms).toISOString().slice(0, 10).replaceAll('-', '/') }
    return known.path
  }
}
