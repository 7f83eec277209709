import type { RewritableAuditStore } from '@tributary/audit-store/audit-store'
import { serverEventAuditKeys } from '@tributary/domain/audit-name'
import { type AuditSource, eraseRequest, type MarkOf } from './erase-request.ts'
import { rewriteLines } from './rewrite-lines.ts'
import { rewrittenAt, rewrittenDocument } from './rewritten-mark.ts'

/** The part of the audit store that a rewriting needs. */
export type AuditWrites = Pick<RewritableAuditStore, 'get' | 'replace' | 'erase'>

/** An object of an app's requests, as it was read. */
export interface ObjectToRewrite {
  app_id: string
  /** Null where the store knows only the hash of a long name. */
  key: string | null
  content: Buffer
  source: AuditSource
}

/** An object that is none of ours, or broken. It is as it was. */
export class UnreadableObjectError extends Error {
  override name = 'UnreadableObjectError'
}

interface RewriteOptions {
  audit: AuditWrites
  markOf: MarkOf
  /** Objects that were rewritten from then on, Unix epoch ms, are checked for the remains of a crash. */
  since_ms: number
  now(): number
}

/** The new form of an object: `content` in its place, or, when nothing of a request remains, only `rest` without its name. */
export interface NewObject {
  content: Buffer | null
  rest: Buffer
  installs: ReadonlySet<string>
}

/** Nothing changes an object but a rewriting, so a second try meets what another eraser has left. */
const tries_max = 3

/**
 * Takes the erased events out of an object, durably; gives the installs that had any. An object that comes again, or that a
 * crash left half-way, ends in the same state. Rejects where the object is none of ours.
 */
export async function rewriteObject(options: RewriteOptions, object: ObjectToRewrite): Promise<ReadonlySet<string>> {
  const { app_id, key, content, source } = object
  const keys = key === null ? await serverEventKeys(app_id, content) : [key]
  return applyRewriting(options, { keys, content }, (present) => withoutErased(present, source, options))
}

/** The same for any rule of what is erased. */
export async function applyRewriting(
  { audit, since_ms }: Pick<RewriteOptions, 'audit' | 'since_ms'>,
  { keys, ...object }: { keys: readonly string[]; content: Buffer },
  renew: (content: Buffer) => Promise<NewObject | null>,
): Promise<ReadonlySet<string>> {
  let { content } = object
  for (let left = tries_max; left > 0; left -= 1) {
    const renewed = await readable(() => renew(content))
    if (renewed === null) {
      if ((rewrittenAt(content) ?? -1) >= since_ms) for (const key of keys) await audit.replace(key, content, content)
      return new Set()
    }
    for (const key of keys) {
      const outcome =
        renewed.content === null
          ? await audit.erase(key, content, renewed.rest)
          : await audit.replace(key, content, renewed.content)
      if (outcome === 'done') return renewed.installs
    }
    const now = await audit.get(keys[0]!)
    if (now === null) return new Set()
    content = now
  }
  throw new Error('an audit object changes again and again while it is rewritten')
}

async function withoutErased(content: Buffer, source: AuditSource, { markOf, now }: RewriteOptions) {
  const nothing = rewrittenDocument(Buffer.from('{"body":null}'), now())
  if (source === 'sdk') {
    const lines = await rewriteLines(content, (line) => eraseRequest(line, source, markOf), now())
    return lines && { ...lines, rest: nothing }
  }
  const erased = eraseRequest(content, source, markOf)
  return erased && { ...erased, content: erased.rest && rewrittenDocument(erased.rest, now()), rest: nothing }
}

/** The two keys of the store that a single event can have. Rejects where the object is none of ours. */
export const serverEventKeys = (app_id: string, content: Buffer): Promise<string[]> =>
  readable(async () => {
    const request = JSON.parse(content.toString('utf8')) as Parameters<typeof serverEventAuditKeys>[0]
    return serverEventAuditKeys(request).map((audit_key) => `${app_id}/${audit_key}`)
  })

/** Runs `work`, and turns each rejection of it into an `UnreadableObjectError`. */
export const readable = <T>(work: () => Promise<T>): Promise<T> =>
  work().catch((cause: unknown) => {
    throw new UnreadableObjectError('an audit object is none of ours', { cause })
  })
