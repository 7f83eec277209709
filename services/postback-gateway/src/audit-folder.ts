import { postback_audit_folder } from '@tributary/contracts/postback/received'

/** Folder of the audit objects of a protocol on a day (`yyyy/mm/dd`); docs/rules.md#audit-objects. */
export const auditFolder = (day: string, protocol: string): string => `${postback_audit_folder}${protocol}/${day}`
