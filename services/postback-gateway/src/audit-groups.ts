import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { GroupCommitOptions } from '@tributary/audit-store/group-commit'
import { limits } from '@tributary/contracts/limits'
import { postback_audit_folder } from '@tributary/contracts/postback/received'

const compress = promisify(gzip)

/**
 * How postbacks share audit objects (docs/rules.md#audit-objects). The members of a group are its lines, compressed together:
 * postbacks are alike, and a compressor for each would cost as much as all else that the gateway does (docs/adr/0310).
 */
export const auditGroups = {
  linger_ms: limits.audit_group_linger_ms,
  bytes_max: limits.audit_group_bytes_max,
  folderOf: (day, protocol) => `${postback_audit_folder}${protocol}/${day}`,
  pack: (lines) => compress(Buffer.concat(lines), { level: 1 }),
} satisfies Partial<GroupCommitOptions>
