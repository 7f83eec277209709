import { reportDimensions } from '../report-parameters.ts'
import { position, same, type Table } from './table.ts'

/**
 * Tables of clicks, installs and verdicts. Each is a set: its rows are named by a click id or by a position on the log, so that
 * a batch that is written again changes nothing, whatever tokens an engine has forgotten
 * (docs/decisions/attribution.md#tables-of-attribution-are-sets).
 */
export const attributionTables = {
  clicks_raw_v1: {
    row: 'a click on a tracking link, or a hit of a honeypot',
    reread: true,
    writers: ['click-writer'],
    readers: [
      'click-writer',
      'install-attributor',
      'report-api',
      'admin-api',
      'eraser',
      'reconciler',
      'replayer',
      'retention',
    ],
    personal: ['click_id', 'clicked_at_ms', 'ip', 'user_agent', 'click', 'match_keys'],
    erased_by: { look_up: ['day', 'topic', 'partition', 'offset'] },
    retention: {
      blanked: {
        received_ms: 'clicked_at_ms',
        holds: `(ip != '' OR user_agent != '')`,
        columns: { ip: `''`, user_agent: `''` },
      },
      deleted_after: 'keep_click_days',
    },
  },
  click_keys_v1: {
    row: 'something that an install may match a click by',
    writers: ['click-writer'],
    readers: ['click-writer', 'install-attributor', 'report-api', 'eraser', 'retention'],
    personal: ['match_key', 'click_id', 'clicked_at_ms'],
    erased_by: { with: 'clicks_raw_v1', on: ['match_key', 'clicked_at_ms', 'click_id'] },
    retention: { deleted_after: 'keep_click_days' },
    derived: {
      from: 'clicks_raw_v1',
      known_by: 'set',
      groups: {
        ...same('app_id', 'clicked_at_ms', 'click_id', 'filtered_reason', 'lookback_hours'),
        match_key: 'arrayJoin(match_keys)',
      },
      values: { day: ['max(day)', 'max(day)'] },
    },
  },
  install_facts_v1: {
    row: 'an install event or an alias',
    reread: true,
    writers: ['install-attributor'],
    readers: ['click-writer', 'install-attributor', 'report-api', 'admin-api', 'eraser', 'retention'],
    personal: ['install_uuid', 'fact', 'match_keys'],
    erased_by: { look_up: ['day', 'topic', 'partition', 'offset', 'event_index'] },
    retention: {
      blanked: {
        received_ms: 'received_at_ms',
        holds: `position(fact, '"ip":"') > 0`,
        columns: { fact: `replaceRegexpOne(fact, '"ip":"[^"]*"', '"ip":null')` },
      },
    },
  },
  install_fact_keys_v1: {
    row: 'something that a click or another install may match an install by',
    writers: ['install-attributor'],
    readers: ['click-writer', 'install-attributor', 'report-api', 'admin-api', 'eraser'],
    personal: ['match_key', 'install_uuid', 'installed_at_ms'],
    erased_by: { with: 'install_facts_v1', on: ['match_key', 'topic', 'partition', 'offset', 'event_index'] },
    derived: {
      from: 'install_facts_v1',
      known_by: 'set',
      groups: {
        ...same('app_id', 'received_at_ms', 'install_uuid', 'kind', ...Object.keys(position), 'event_index'),
        match_key: 'arrayJoin(match_keys)',
      },
      values: {
        day: ['max(day)', 'max(day)'],
        installed_at_ms: ['max(installed_at_ms)', "max(JSONExtractInt(fact, 'installed_at_ms'))"],
      },
    },
  },
  installs_v1: {
    row: 'a verdict (sign 1), or the end of one (sign -1)',
    reread: true,
    writers: ['install-writer'],
    readers: [
      'install-attributor',
      'install-writer',
      'postback-forwarder',
      'report-api',
      'admin-api',
      'eraser',
      'reconciler',
      'settler',
    ],
    personal: [
      ...['install_uuid', 'install_key', 'installed_at_ms', 'click_id', 'clicked_at_ms', 'reinstall', 'decision'],
      ...['sub1', 'sub2', 'sub3', 'sub4', 'sub5'],
    ],
    erased_by: { look_up: ['day', 'topic', 'partition', 'offset'] },
  },
  installs_by_day_v1: {
    row: 'the same by day of install, without those that wait for a click',
    writers: ['install-writer'],
    readers: ['report-api', 'admin-api', 'eraser', 'reconciler', 'settler'],
    personal: ['install_key', 'installed_at_ms', 'reinstall'],
    erased_by: { with: 'installs_v1', on: ['day', 'topic', 'partition', 'offset'] },
    derived: {
      from: 'installs_v1',
      where: 'pending = 0',
      known_by: 'set',
      groups: {
        ...same('app_id', 'day', 'installed_at_ms', 'install_key', 'partner', 'attribution_type', 'reinstall'),
        ...same('sign'),
        ...position,
      },
      values: { flagged: ['max(flagged)', 'max(notEmpty(fraud_flags))'] },
    },
  },
  installs_by_dimensions_v1: {
    row: 'the same by day of install, with everything that a report groups by',
    writers: ['install-writer', 'settler'],
    readers: ['report-api', 'admin-api', 'eraser', 'reconciler', 'settler'],
    personal: ['install_key', 'installed_at_ms', 'reinstall', 'sub1', 'sub2', 'sub3', 'sub4', 'sub5'],
    erased_by: { with: 'installs_v1', on: ['day', 'topic', 'partition', 'offset'] },
    derived: {
      from: 'installs_v1',
      where: 'pending = 0',
      known_by: 'set',
      groups: {
        ...same('app_id', 'day', 'installed_at_ms', 'install_key', ...reportDimensions, 'reinstall', 'sign'),
        ...position,
      },
      values: { flagged: ['max(flagged)', 'max(notEmpty(fraud_flags))'] },
    },
  },
  installs_by_key_v1: {
    row: 'the same by install, with what money needs of it',
    writers: ['install-writer'],
    readers: ['report-api', 'admin-api', 'eraser', 'reconciler', 'settler'],
    personal: ['install_key', 'installed_at_ms', 'reinstall'],
    erased_by: { with: 'installs_v1', on: ['install_key', 'row_key'] },
    derived: {
      from: 'installs_v1',
      where: 'pending = 0',
      known_by: 'set',
      groups: {
        ...same('app_id', 'install_key', 'installed_at_ms', 'partner', 'reinstall', 'sign'),
        row_key: `sipHash64(${Object.keys(position).join(', ')})`,
      },
      values: { day: ['max(day)', 'max(day)'] },
    },
  },
  install_claims_v1: {
    row: 'a verdict that gives a click to an install, or the end of one',
    writers: ['install-writer'],
    readers: ['install-attributor', 'report-api', 'admin-api', 'eraser'],
    personal: ['click_id', 'install_uuid', 'installed_at_ms', 'reinstall'],
    erased_by: { with: 'installs_v1', on: ['click_id', 'topic', 'partition', 'offset'] },
    derived: {
      from: 'installs_v1',
      where: "click_id != ''",
      known_by: 'set',
      groups: {
        ...same('app_id', 'click_id', 'install_uuid', 'installed_at_ms', 'partner', 'campaign', 'reinstall'),
        ...same('event_topic', 'event_partition', 'event_offset', 'event_index', 'sign'),
        ...position,
      },
      values: { day: ['max(day)', 'max(day)'] },
    },
  },
  installs_pending_v1: {
    row: 'an install begins to wait for a click, or ends it',
    writers: ['install-writer'],
    readers: ['install-attributor', 'admin-api', 'eraser'],
    personal: ['install_uuid'],
    erased_by: { with: 'installs_v1', on: ['received_at_ms', 'topic', 'partition', 'offset'] },
    derived: {
      from: 'installs_v1',
      where: 'pending = 1',
      known_by: 'set',
      groups: { ...same('app_id', 'received_at_ms', 'install_uuid', 'sign'), ...position },
      values: { day: ['max(day)', 'max(day)'] },
    },
  },
  clicks_frozen_v1: {
    row: 'clicks of a day that are counted for ever, or the mark that they are',
    writers: ['retention'],
    readers: ['report-api', 'retention'],
    personal: [],
    erased_by: { nothing: 'it counts clicks of a link, and the clicks of its days are deleted' },
  },
  click_floods_v1: {
    row: 'whether a source of clicks flooded on a day',
    writers: ['install-attributor'],
    readers: ['install-attributor', 'report-api'],
    personal: [],
    erased_by: { nothing: 'it counts clicks and installs of a source' },
  },
} as const satisfies Record<string, Table>
