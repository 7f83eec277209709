import { firstOf, moneyOf, type Provider, partnerOf, propsOf, type Row, textIn, timeOf } from './provider.ts'

const touch = 'last_attributed_touch_data_'

/** Events about an install that has a row of its own, or about no install. */
const skipped = ['open', 'click', 'impression', 'view', 'web_session_start', 'pageview', 'branch_cta_view', 'sms_sent']

const times = ['timestamp', 'event_timestamp', 'timestamp_iso']

/** Daily and custom exports of Branch. Times are Unix ms or ISO. */
export const branch: Provider = {
  name: 'branch',
  install_columns: ['user_data_randomized_bundle_token', 'identity_id', 'user_data_developer_identity'],
  needed_columns: [['name'], times],
  user: {
    user_id: ['user_data_developer_identity'],
    platform: ['user_data_os'],
    os_version: ['user_data_os_version'],
    model: ['user_data_model'],
    ip: ['user_data_ip'],
    gaid: ['user_data_aaid'],
    idfa: ['user_data_idfa'],
    idfv: ['user_data_idfv'],
  },
  install: {
    event_ts_ms: times,
    campaign: [`${touch}tilde_campaign`],
    ad_group: [`${touch}tilde_ad_set_name`],
    creative: [`${touch}tilde_ad_name`, `${touch}tilde_creative_name`],
    country: ['user_data_geo_country_code'],
    attributed_at_ms: ['last_attributed_touch_timestamp', 'last_attributed_touch_timestamp_iso'],
  },
  read(row) {
    const name = row.name ?? ''
    const kind = name.toLowerCase()
    if (name === '') return { skipped: 'no_event_name' }
    if (skipped.includes(kind)) return { skipped: kind }
    if (kind !== 'install' && kind !== 'reinstall') return eventOf(row, name)
    return { partner: row.attributed?.toLowerCase() === 'false' ? 'organic' : partnerOf(networkOf(row)) }
  },
}

const networkOf = (row: Row): string | undefined =>
  firstOf(row, `${touch}tilde_advertising_partner_name`, `${touch}dollar_3p`, `${touch}tilde_channel`)

function eventOf(row: Row, event_name: string) {
  const props = propsOf(row.custom_data)
  return {
    event_name,
    event_ts_ms: timeOf(firstOf(row, ...times)),
    ...moneyOf(
      { revenue: row.event_data_revenue, currency: row.event_data_currency },
      { revenue: row.event_data_revenue_in_usd, currency: 'USD' },
    ),
    transaction_id: row.event_data_transaction_id ?? textIn(props, 'transaction_id'),
    props,
    // Branch names each row, so a row of two exports counts once.
    ...(row.id !== undefined && { event_id: `branch-${row.id}` }),
  }
}
