import { firstOf, moneyOf, type Provider, partnerOf, propsOf, type Row, timeOf } from './provider.ts'

/** CSV uploads and raw-data exports of Adjust: columns are its placeholders, with or without braces; times are Unix seconds. */
export const adjust: Provider = {
  name: 'adjust',
  install_columns: ['adid'],
  needed_columns: [['activity_kind'], ['created_at', 'installed_at']],
  user: {
    user_id: ['user_id', 'external_device_id'],
    platform: ['os_name'],
    os_version: ['os_version'],
    model: ['device_model', 'device_name'],
    ip: ['ip_address'],
    gaid: ['gps_adid'],
    idfa: ['idfa'],
    idfv: ['idfv'],
  },
  install: {
    event_ts_ms: ['installed_at', 'created_at'],
    campaign: ['campaign_name'],
    ad_group: ['adgroup_name'],
    creative: ['creative_name'],
    country: ['country'],
    attributed_at_ms: ['engagement_time', 'click_time'],
  },
  read(row) {
    const kind = row.activity_kind ?? ''
    if (row.environment?.toLowerCase() === 'sandbox') return { skipped: 'sandbox' }
    if (kind === 'install') return { partner: row.is_organic === '1' ? 'organic' : partnerOf(networkOf(row)) }
    if (kind !== 'event') return { skipped: kind === '' ? 'no_activity_kind' : kind }
    const event_name = firstOf(row, 'event_name', 'event', 'event_token')
    return event_name === undefined ? { skipped: 'no_event_name' } : eventOf(row, event_name)
  },
}

/** A tracker's name is `network::campaign::adgroup::creative`. */
const networkOf = (row: Row): string | undefined => row.network_name ?? row.tracker_name?.split('::')[0]

const eventOf = (row: Row, event_name: string) => ({
  event_name,
  event_ts_ms: timeOf(row.created_at),
  ...moneyOf(
    { revenue: row.revenue_float, currency: row.currency },
    { revenue: row.reporting_revenue, currency: row.reporting_currency },
    { revenue: row.revenue_usd, currency: 'USD' },
  ),
  transaction_id: firstOf(row, 'transaction_id', 'deduplication_id', 'order_id'),
  product_id: row.product_id,
  props: propsOf(firstOf(row, 'callback_parameters', 'partner_parameters')),
})
