import { moneyOf, type Provider, partnerOf, propsOf, type Row, textIn, timeOf } from './provider.ts'

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
  user: {
    user_id: ['customer_user_id'],
    platform: ['platform'],
    os_version: ['os_version'],
    model: ['device_model', 'device_type'],
    ip: ['ip'],
    gaid: ['advertising_id'],
    idfa: ['idfa'],
    idfv: ['idfv'],
  },
  install: {
    event_ts_ms: ['install_time', 'event_time'],
    campaign: ['campaign', 'af_c', 'c'],
    ad_group: ['adset', 'af_adset'],
    creative: ['ad', 'af_ad'],
    country: ['country_code'],
    sub1: ['sub_param_1', 'af_sub1'],
    sub2: ['sub_param_2', 'af_sub2'],
    sub3: ['sub_param_3', 'af_sub3'],
    sub4: ['sub_param_4', 'af_sub4'],
    sub5: ['sub_param_5', 'af_sub5'],
    attributed_at_ms: ['attributed_touch_time'],
  },
  read(row) {
    const name = row.event_name ?? ''
    const kind = name.toLowerCase().replaceAll('-', '_')
    if (name === '') return { skipped: 'no_event_name' }
    if (conversions.includes(kind)) return { skipped: kind }
    if (installs.includes(kind)) return { partner: partnerOf(row.media_source) }
    // An event within the window of a retargeting campaign has two rows; the other one is that of the event.
    if (row.is_primary_attribution?.toLowerCase() === 'false') return { skipped: 'not_primary_attribution' }
    return eventOf(row, name)
  },
}

function eventOf(row: Row, event_name: string) {
  const props = propsOf(row.event_value)
  return {
    event_name,
    event_ts_ms: timeOf(row.event_time),
    ...moneyOf(
      { revenue: row.event_revenue, currency: row.event_revenue_currency ?? textIn(props, 'af_currency') },
      { revenue: row.event_revenue_usd, currency: 'USD' },
    ),
    transaction_id: textIn(props, 'af_order_id', 'af_receipt_id'),
    product_id: textIn(props, 'af_content_id'),
    props,
  }
}
