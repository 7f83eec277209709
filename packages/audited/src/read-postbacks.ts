import { daysBelow, objectsIn } from '@tributary/audit-store/audit-days'
import type { AuditStore, StoredObject } from '@tributary/audit-store/audit-store'
import { objectLines } from '@tributary/audit-store/object-lines'
import { readAhead } from '@tributary/audit-store/read-ahead'
import { PostbackReceived, postback_audit_folder, postbackProtocols } from '@tributary/contracts/postback/received'
import type { Pause } from '@tributary/service-kit/service/pauses'
import type { Reading } from './reading.ts'

interface ReadPostbacksDeps {
  audit: Pick<AuditStore, 'list'>
  /** First UTC date (`YYYY-MM-DD`). */
  first_day: string
  reading: Reading
  pause: Pause
}

/** Objects that are fetched at the same time; each has 4 MiB at most (`audit_group_bytes_max`). */
const objects_ahead = 4

/**
 * The postbacks of each audit object of a day, from `first_day` on, day after day (docs/rules.md#audit-keys). An object that
 * can't be read is counted as unknown, and gives what stands before the fault.
 */
export async function* readPostbacks({
  audit,
  first_day,
  reading,
  pause,
}: ReadPostbacksDeps): AsyncGenerator<PostbackReceived[]> {
  for (const protocol of postbackProtocols) {
    const root = `${postback_audit_folder}${protocol}/`
    const days = await Array.fromAsync(daysBelow(audit, root, first_day))
    for (const day of days.toSorted()) {
      const folder = `${root}${day.replaceAll('-', '/')}/`
      for await (const { postbacks } of readPostbackObjects({ objects: objectsIn(audit, folder), reading, pause }))
        yield postbacks
    }
  }
}

type Unread = Pick<StoredObject, 'key' | 'read'>

interface ReadObjectsDeps extends Pick<ReadPostbacksDeps, 'reading' | 'pause'> {
  objects: AsyncIterable<Unread> | Iterable<Unread>
}

/** The postbacks of some audit objects, one by one. */
export async function* readPostbackObjects({ objects, reading, pause }: ReadObjectsDeps) {
  const fetched = readAhead(objects, objects_ahead, async ({ key, read }) => ({ key, content: await read() }))
  for await (const { key, content } of fetched)
    yield { key, postbacks: await readObject(key, content, { reading, pause }) }
}

async function readObject(
  audit_key: string | null,
  content: Buffer | null,
  { reading, pause }: Pick<ReadPostbacksDeps, 'reading' | 'pause'>,
): Promise<PostbackReceived[]> {
  const postbacks: PostbackReceived[] = []
  try {
    if (content === null || audit_key === null) throw new Error('the object is gone')
    const named = { v: 1, audit_key }
    for await (const line of objectLines(content)) {
      await pause()
      postbacks.push(PostbackReceived.parse({ ...JSON.parse(line.toString()), ...named }))
    }
  } catch {
    reading.doubt('unreadable_object', 1, audit_key)
  }
  return postbacks
}
