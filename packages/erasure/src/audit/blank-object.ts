import { blankRequest } from './blank-request.ts'
import type { AuditSource } from './erase-request.ts'
import { rewriteLines } from './rewrite-lines.ts'
import { type AuditWrites, applyRewriting, type NewObject, serverEventKeys } from './rewrite-object.ts'
import { rewrittenDocument } from './rewritten-mark.ts'

/** An audit object, as it was read. */
export interface ObjectToBlank {
  app_id: string
  /** Null where the store knows only the hash of a long name. */
  key: string | null
  content: Buffer
  source: AuditSource | 'clicks'
  /** Whether a line of an archive of clicks is to be blanked, by the app of the click. */
  isBlanked?: (app_id: string) => boolean
}

/**
 * Blanks addresses and agents in an audit object, with the promises of `rewriteObject`; resolves to whether there were any.
 * Rejects where the object is none of ours.
 */
export async function blankObject(audit: AuditWrites, object: ObjectToBlank, now: () => number): Promise<boolean> {
  const { app_id, key, content } = object
  const keys = key === null ? await serverEventKeys(app_id, content) : [key]
  let changed = false
  const renew = async (present: Buffer): Promise<NewObject | null> => {
    const blanked = await withoutAddresses(present, object, now())
    changed ||= blanked !== null
    return blanked && { content: blanked, rest: blanked, installs: nobody }
  }
  // A crash may have left any object half-way that was ever rewritten.
  await applyRewriting({ audit, since_ms: 0 }, { keys, content }, renew)
  return changed
}

const nobody: ReadonlySet<string> = new Set()

async function withoutAddresses(content: Buffer, { source, isBlanked }: ObjectToBlank, now_ms: number) {
  if (source === 's2s' || source === 'bulk') {
    const blanked = blankRequest(content)
    return blanked && rewrittenDocument(blanked, now_ms)
  }
  const lines = await rewriteLines(
    content,
    (line) => {
      if (isBlanked !== undefined && !isBlanked((JSON.parse(line.toString('utf8')) as { app_id: string }).app_id))
        return null
      const rest = blankRequest(line)
      return rest && { rest, installs: nobody }
    },
    now_ms,
  )
  return lines?.content ?? null
}
