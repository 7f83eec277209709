import { checked } from '@tributary/attribution/literals'
import { folders } from '@tributary/audit-store/audit-days'
import type { AuditStore, Listed } from '@tributary/audit-store/audit-store'
import { objectLines } from '@tributary/audit-store/object-lines'
import { readAhead } from '@tributary/audit-store/read-ahead'
import {
  type PostbackProtocol,
  PostbackReceived,
  postback_audit_folder,
  postbackProtocols,
} from '@tributary/contracts/postback/received'
import type { Tally } from '../tally.ts'

interface ReadPostbacksDeps {
  audit: Pick<AuditStore, 'list'>
  /** First UTC date (`YYYY-MM-DD`). */
  first_day: string
  tally: Tally
}

/** Objects that are fetched at the same time; each has 4 MiB at most (`audit_group_bytes_max`). */
const objects_ahead = 4

type StoredObject = Extract<Listed, { kind: 'object' }>

/**
 * The postbacks of each audit object of a day, from `first_day` on, day after day (docs/rules.md#audit-keys). An object that
 * can't be read is counted as unknown, and gives what stands before the fault.
 */
export async function* readPostbacks({
  audit,
  first_day,
  tally,
}: ReadPostbacksDeps): AsyncGenerator<PostbackReceived[]> {
  for (const protocol of postbackProtocols) {
    for (const folder of await dayFolders(audit, protocol, first_day)) {
      const objects = readAhead(objectsIn(audit, folder), objects_ahead, async ({ key, read }) => ({
        ...{ audit_key: key, content: await read() },
      }))
      for await (const { audit_key, content } of objects) yield await readObject(audit_key, content, tally)
    }
  }
}

async function dayFolders(audit: Pick<AuditStore, 'list'>, protocol: PostbackProtocol, first_day: string) {
  const root = `${postback_audit_folder}${protocol}/`
  const days: string[] = []
  for await (const year of folders(audit, root)) {
    for await (const month of folders(audit, `${root}${year}/`)) {
      for await (const date of folders(audit, `${root}${year}/${month}/`)) {
        if (`${year}-${month}-${date}` >= first_day) days.push(`${root}${year}/${month}/${date}/`)
      }
    }
  }
  return days.toSorted()
}

async function* objectsIn(audit: Pick<AuditStore, 'list'>, folder: string): AsyncGenerator<StoredObject> {
  for await (const one of audit.list(folder)) if (one.kind === 'object') yield one
}

async function readObject(audit_key: string | null, content: Buffer | null, tally: Tally): Promise<PostbackReceived[]> {
  const postbacks: PostbackReceived[] = []
  try {
    if (content === null) throw new Error('the object is gone')
    const named = { v: 1, audit_key: checked('audit_key', audit_key ?? '') }
    for await (const line of objectLines(content)) {
      postbacks.push(PostbackReceived.parse({ ...JSON.parse(line.toString()), ...named }))
    }
  } catch {
    tally.doubt('unreadable_object')
  }
  return postbacks
}
