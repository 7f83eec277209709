import {
  countryOf,
  firstOf,
  type ImportedEvent,
  moneyOf,
  type Provider,
  partnerOf,
  platformOf,
  present,
  propsOf,
  type Row,
  timeOf,
} from './provider.ts'

/** CSV uploads and raw-data exports of Adjust: columns are its placeholders, with or without braces; times are Unix seconds. */
export const adjust: Provider = {
  name: 'adjust',
  install_columns: ['adid'],
  needed_columns: [['activity_kind'], ['created_at', 'installed_at']],
  toEvent(row) {
    const kind = row.activity_kind ?? ''
    if (row.environment?.toLowerCase() === 'sandbox') return { skipped: 'sandbox' }
    if (kind === 'install') return installOf(row)
    if (kind !== 'event') return { skipped: kind === '' ? 'no_activity_kind' : kind }
    const event_name = firstOf(row, 'event_name', 'event', 'event_token')
    return event_name === undefined ? { skipped: 'no_event_name' } : eventOf(row, event_name)
  },
}

function installOf(row: Row): ImportedEvent {
  return {
    event_name: 'app_install',
    event_ts_ms: timeOf(firstOf(row, 'installed_at', 'created_at')),
    ...aboutUser(row),
    attribution: present({
      partner: row.is_organic === '1' ? 'organic' : partnerOf(networkOf(row)),
      campaign: row.campaign_name,
      ad_group: row.adgroup_name,
      creative: row.creative_name,
      country: countryOf(row.country),
      attributed_at_ms: timeOf(firstOf(row, 'engagement_time', 'click_time')),
      source: adjust.name,
    }),
  }
}

/** A tracker's name is `network::campaign::adgroup::creative`. */
const networkOf = (row: Row): string | undefined => row.network_name ?? row.tracker_name?.split('::')[0]

function eventOf(row: Row, event_name: string): ImportedEvent {
  return {
    event_name,
    event_ts_ms: timeOf(row.created_at),
    ...aboutUser(row),
    ...moneyOf(
      { revenue: row.revenue_float, currency: row.currency },
      { revenue: row.reporting_revenue, currency: row.reporting_currency },
      { revenue: row.revenue_usd, currency: 'USD' },
    ),
    transaction_id: firstOf(row, 'transaction_id', 'deduplication_id', 'order_id'),
    product_id: row.product_id,
    props: propsOf(firstOf(row, 'callback_parameters', 'partner_parameters')),
  }
}

const aboutUser = (row: Row) => ({
  user_id: firstOf(row, 'user_id', 'external_device_id'),
  platform: platformOf(row.os_name),
  device: present({
    os_version: row.os_version,
    model: firstOf(row, 'device_model', 'device_name'),
    ip: row.ip_address,
    gaid: row.gps_adid,
    idfa: row.idfa,
    idfv: row.idfv,
  }),
})
