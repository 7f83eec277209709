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

const installs = ['install', 'reinstall']

/** Rows of retargeting campaigns: they are about an install that has a row of its own. */
const conversions = ['re_engagement', 're_attribution']

/**
 * Raw-data reports of AppsFlyer, from its export page and Pull API, or from Data Locker (whose columns begin with `af_`). Times are
 * UTC, which is their default.
 */
export const appsflyer: Provider = {
  name: 'appsflyer',
  install_columns: ['appsflyer_id'],
  needed_columns: [['event_name'], ['event_time', 'install_time']],
  toEvent(row) {
    const name = row.event_name ?? ''
    const kind = name.toLowerCase().replaceAll('-', '_')
    if (name === '') return { skipped: 'no_event_name' }
    if (conversions.includes(kind)) return { skipped: kind }
    if (installs.includes(kind)) return installOf(row)
    // An event within the window of a retargeting campaign has two rows; the other one is that of the event.
    if (row.is_primary_attribution?.toLowerCase() === 'false') return { skipped: 'not_primary_attribution' }
    return eventOf(row, name)
  },
}

function installOf(row: Row): ImportedEvent {
  return {
    event_name: 'app_install',
    event_ts_ms: timeOf(firstOf(row, 'install_time', 'event_time')),
    ...aboutUser(row),
    attribution: present({
      partner: partnerOf(row.media_source),
      campaign: firstOf(row, 'campaign', 'af_c', 'c'),
      ad_group: firstOf(row, 'adset', 'af_adset'),
      creative: firstOf(row, 'ad', 'af_ad'),
      country: countryOf(row.country_code),
      sub1: firstOf(row, 'sub_param_1', 'af_sub1'),
      sub2: firstOf(row, 'sub_param_2', 'af_sub2'),
      sub3: firstOf(row, 'sub_param_3', 'af_sub3'),
      sub4: firstOf(row, 'sub_param_4', 'af_sub4'),
      sub5: firstOf(row, 'sub_param_5', 'af_sub5'),
      attributed_at_ms: timeOf(row.attributed_touch_time),
      source: appsflyer.name,
    }),
  }
}

function eventOf(row: Row, event_name: string): ImportedEvent {
  const props = propsOf(row.event_value)
  return {
    event_name,
    event_ts_ms: timeOf(row.event_time),
    ...aboutUser(row),
    ...moneyOf(
      { revenue: row.event_revenue, currency: row.event_revenue_currency ?? textIn(props, 'af_currency') },
      { revenue: row.event_revenue_usd, currency: 'USD' },
    ),
    transaction_id: textIn(props, 'af_order_id', 'af_receipt_id'),
    product_id: textIn(props, 'af_content_id'),
    props,
  }
}

const aboutUser = (row: Row) => ({
  user_id: row.customer_user_id,
  platform: platformOf(row.platform),
  device: present({
    os_version: row.os_version,
    model: firstOf(row, 'device_model', 'device_type'),
    ip: row.ip,
    gaid: row.advertising_id,
    idfa: row.idfa,
    idfv: row.idfv,
  }),
})
