import { promisify } from 'node:util'
import { gzip, gzipSync } from 'node:zlib'
import type { GroupCommitOptions } from '@tributary/audit-store/group-commit'
import { limits } from '@tributary/contracts/limits'
import { postback_audit_folder } from '@tributary/contracts/postback/received'
import { notification_audit_folder } from '@tributary/contracts/receipt/store-notified'

/**
 * How postbacks share audit objects (docs/rules.md#audit-objects). The members of a group are its lines, compressed together:
 * postbacks are alike, and a compressor for each costs more than to write them
 * (docs/decisions/postbacks.md#postbacks-are-compressed-together).
 */
export const auditGroups = {
  linger_ms: limits.audit_group_linger_ms,
  bytes_max: limits.audit_group_bytes_max,
  rest_ms: limits.postback_group_rest_ms,
  folderOf: (day, protocol) => `${postback_audit_folder}${protocol}/${day}`,
  pack: (lines) => compress(Buffer.concat(lines)),
} satisfies Partial<GroupCommitOptions>

/** How notifications of stores do, those of one app: an app has an object of its own. */
export const notificationGroups = {
  ...auditGroups,
  folderOf: (day, owner) => `${notification_audit_folder}${day}/${owner}`,
} satisfies Partial<GroupCommitOptions>

/** A body up to this size takes 0.2 ms to compress, and the way to another thread and back costs more. */
const compressed_here_bytes_max = 64 * 1024

const level = { level: 1 }
const compressElsewhere = promisify(gzip)

const compress = (text: Buffer): Buffer | Promise<Buffer> =>
  text.length > compressed_here_bytes_max ? compressElsewhere(text, level) : gzipSync(text, level)
