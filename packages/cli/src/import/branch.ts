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
  textIn,
  timeOf,
} from './provider.ts'

const touch = 'last_attributed_touch_data_'

/** Events about an install that has a row of its own, or about no install. */
const skipped = ['open', 'click', 'impression', 'view', 'web_session_start', 'pageview', 'branch_cta_view', 'sms_sent']

/** Daily and custom exports of Branch. Times are Unix ms or ISO. */
export const branch: Provider = {
  name: 'branch',
  install_columns: ['user_data_randomized_bundle_token', 'identity_id', 'user_data_developer_identity'],
  needed_columns: [['name'], ['timestamp', 'timestamp_iso', 'event_timestamp']],
  toEvent(row) {
    const name = row.name ?? ''
    const kind = name.toLowerCase()
    if (name === '') return { skipped: 'no_event_name' }
    if (skipped.includes(kind)) return { skipped: kind }
    return kind === 'install' || kind === 'reinstall' ? installOf(row) : eventOf(row, name)
  },
}

const timeIn = (row: Row) => timeOf(firstOf(row, 'timestamp', 'event_timestamp', 'timestamp_iso'))

function installOf(row: Row): ImportedEvent {
  return {
    event_name: 'app_install',
    event_ts_ms: timeIn(row),
    ...aboutUser(row),
    attribution: present({
      partner: row.attributed?.toLowerCase() === 'false' ? 'organic' : partnerOf(networkOf(row)),
      campaign: row[`${touch}tilde_campaign`],
      ad_group: row[`${touch}tilde_ad_set_name`],
      creative: firstOf(row, `${touch}tilde_ad_name`, `${touch}tilde_creative_name`),
      country: countryOf(row.user_data_geo_country_code),
      attributed_at_ms: timeOf(firstOf(row, 'last_attributed_touch_timestamp', 'last_attributed_touch_timestamp_iso')),
      source: branch.name,
    }),
  }
}

const networkOf = (row: Row): string | undefined =>
  firstOf(row, `${touch}tilde_advertising_partner_name`, `${touch}dollar_3p`, `${touch}tilde_channel`)

function eventOf(row: Row, event_name: string): ImportedEvent {
  const props = propsOf(row.custom_data)
  return {
    event_name,
    event_ts_ms: timeIn(row),
    ...aboutUser(row),
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

const aboutUser = (row: Row) => ({
  user_id: row.user_data_developer_identity,
  platform: platformOf(row.user_data_os),
  device: present({
    os_version: row.user_data_os_version,
    model: row.user_data_model,
    ip: row.user_data_ip,
    gaid: row.user_data_aaid,
    idfa: row.user_data_idfa,
    idfv: row.user_data_idfv,
  }),
})
