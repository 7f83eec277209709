import { type ErasedBy, position, same, type Table } from './table.ts'

const of_no_install = { nothing: 'Apple gives postbacks nothing that leads to an install' } satisfies ErasedBy

/**
 * Tables of Apple's postbacks. Each is a set by log position (docs/decisions/postbacks.md#postbacks-are-sets-and-name-no-app). Their rows
 * name apps by Apple's item ids: the app is matched when they are read.
 */
export const postbackTables = {
  postbacks_raw_v1: {
    row: 'a postback as it came',
    reread: true,
    of_no_app: true,
    writers: ['postback-writer'],
    readers: ['postback-writer', 'reconciler', 'replayer', 'retention'],
    personal: ['audit_key'],
    erased_by: of_no_install,
    retention: { unproven: true },
  },
  postbacks_decoded_v1: {
    row: 'a judgement of a postback, with what the postback says',
    reread: true,
    of_no_app: true,
    writers: ['postback-writer'],
    readers: ['postback-writer', 'report-api', 'retention'],
    personal: [],
    erased_by: of_no_install,
    retention: { unproven: true },
  },
  postback_claims_v1: {
    row: 'a valid postback, by what it claims',
    of_no_app: true,
    writers: ['postback-writer'],
    readers: ['postback-writer', 'report-api'],
    personal: [],
    erased_by: of_no_install,
    derived: {
      from: 'postbacks_decoded_v1',
      where: "verdict = 'valid'",
      known_by: 'set',
      groups: { ...same('postback_key', 'environment', 'received_at_ms'), ...position },
      values: { day: ['max(day)', 'max(day)'] },
    },
  },
  postback_beaten_claims_v1: {
    row: 'a claim that an earlier one on the same postback beats',
    of_no_app: true,
    writers: ['postback-writer'],
    readers: ['postback-writer', 'report-api'],
    personal: [],
    erased_by: of_no_install,
    swept_from: 'postback_claims_v1',
  },
  postback_publishers_v1: {
    row: 'an app that a publisher showed ads for on a day',
    of_no_app: true,
    writers: ['postback-writer'],
    readers: ['report-api', 'retention'],
    personal: [],
    erased_by: of_no_install,
    retention: { unproven: true },
    derived: {
      from: 'postbacks_decoded_v1',
      where: 'publisher_item_id != 0 AND publisher_item_id != advertised_item_id',
      known_by: 'set',
      groups: same('publisher_item_id', 'day', 'advertised_item_id'),
      values: { valid: ['max(valid)', "max(verdict = 'valid')"] },
    },
  },
} as const satisfies Record<string, Table>
