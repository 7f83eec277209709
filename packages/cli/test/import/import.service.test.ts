import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { answerOf, bulkService, eventsOf, key, rejectedBeside } from '../bulk-service.ts'
import { fileWith, tributary } from '../run-tributary.ts'

const csv = (columns: readonly string[], rows: readonly Record<string, string>[]) =>
  [
    columns.join(','),
    ...rows.map((row) => columns.map((name) => `"${(row[name] ?? '').replaceAll('"', '""')}"`).join(',')),
  ]
    .map((line) => `${line}\n`)
    .join('')

/** Runs `import` and gives its answer, and the events that the service has. */
async function imported(provider: string, text: string, ...options: string[]) {
  const { shelf, env } = await bulkService()
  const path = await fileWith('export.csv', text)
  const run = await tributary(['import', provider, '--key', key, '--json', ...options, path], env)
  return { run, path, env, shelf, events: [...shelf.events.values()] as Record<string, unknown>[] }
}

describe('tributary import appsflyer', () => {
  const columns = [
    'Attributed Touch Time',
    'Install Time',
    'Event Time',
    'Event Name',
    'Event Value',
    'Event Revenue',
    'Event Revenue Currency',
    'Event Revenue USD',
    'Media Source',
    'Campaign',
    'Adset',
    'Ad',
    'Sub Param 2',
    'Country Code',
    'IP',
    'AppsFlyer ID',
    'Advertising ID',
    'Customer User ID',
    'Platform',
    'OS Version',
    'Is Primary Attribution',
  ]
  const install = {
    'Attributed Touch Time': '2026-03-01 11:58:00',
    'Install Time': '2026-03-01 12:00:00.250',
    'Event Time': '2026-03-01 12:00:00.250',
    'Event Name': 'install',
    'Media Source': 'Facebook Ads',
    Campaign: 'Spring, "DE"',
    Adset: 'lookalike',
    Ad: 'video 3',
    'Sub Param 2': 'x',
    'Country Code': 'de',
    IP: '198.51.100.7',
    'AppsFlyer ID': '1415211453000-6513894',
    'Advertising ID': '9f1c0b4e-1111-4a4a-9d9d-0123456789ab',
    Platform: 'android',
    'OS Version': '14',
  }
  const purchase = {
    ...install,
    'Event Time': '2026-03-02 08:30:00',
    'Event Name': 'af_purchase',
    'Event Value': '{"af_order_id":"GPA.1","af_content_id":"gold","level":7}',
    'Event Revenue': '9.99',
    'Event Revenue Currency': 'EUR',
    'Event Revenue USD': '10.80',
    'Customer User ID': 'u-1',
  }

  it('brings installs with the attribution that they had, and purchases in their own currency', async () => {
    const { run, events } = await imported('appsflyer', csv(columns, [install, purchase]))
    expect(answerOf(run)).toEqual({ accepted: 2, rejected: 0, skipped: {}, seconds: expect.any(Number) })
    expect(events).toEqual([
      {
        event_id: expect.stringMatching(/^appsflyer-[0-9a-f]{32}$/),
        event_name: 'app_install',
        event_ts_ms: Date.parse('2026-03-01T12:00:00.250Z'),
        install_uuid: '1415211453000-6513894',
        platform: 'android',
        device: { os_version: '14', ip: '198.51.100.7', gaid: '9f1c0b4e-1111-4a4a-9d9d-0123456789ab' },
        attribution: {
          partner: 'facebook_ads',
          campaign: 'Spring, "DE"',
          ad_group: 'lookalike',
          creative: 'video 3',
          country: 'DE',
          sub2: 'x',
          attributed_at_ms: Date.parse('2026-03-01T11:58:00Z'),
          source: 'appsflyer',
        },
      },
      expect.objectContaining({
        event_name: 'af_purchase',
        event_ts_ms: Date.parse('2026-03-02T08:30:00Z'),
        install_uuid: '1415211453000-6513894',
        user_id: 'u-1',
        revenue: 9.99,
        currency: 'EUR',
        transaction_id: 'GPA.1',
        product_id: 'gold',
        props: { af_order_id: 'GPA.1', af_content_id: 'gold', level: 7 },
      }),
    ])
  })

  it('tells by --dry-run what it would bring, and sends nothing', async () => {
    const bad = { ...purchase, 'Event Time': 'yesterday' }
    const second = { ...purchase, 'Is Primary Attribution': 'false' }
    const { run, events } = await imported('appsflyer', csv(columns, [install, purchase, bad, second]), '--dry-run')
    expect(answerOf(run)).toMatchObject({
      ...{ dry_run: true, accepted: 2, rejected: 1, skipped: { not_primary_attribution: 1 }, unknown_fields: [] },
      events: [
        { event_name: 'app_install', accepted: 1, revenue: [] },
        { event_name: 'af_purchase', accepted: 1, revenue: [{ currency: 'EUR', amount: 9.99 }] },
      ],
      rejected_lines: [{ line: 4, reason: 'invalid_field', field: 'event_ts_ms' }],
    })
    expect(events).toEqual([])
  })

  it('takes the columns of Data Locker, and an organic install for organic', async () => {
    const { events } = await imported(
      'appsflyer',
      csv(
        ['event_name', 'event_time', 'appsflyer_id', 'media_source', 'af_adset', 'country_code'],
        [
          {
            event_name: 'install',
            event_time: '2026-03-01 12:00:00',
            appsflyer_id: 'a-1',
            media_source: 'organic',
            country_code: 'UK',
          },
          {
            event_name: 'install',
            event_time: '2026-03-01 12:00:00',
            appsflyer_id: 'a-2',
            media_source: '',
            country_code: 'N/A',
          },
          {
            event_name: 'install',
            event_time: '2026-03-01 12:00:00',
            appsflyer_id: 'a-3',
            media_source: 'x',
            af_adset: 'g',
          },
        ],
      ),
    )
    expect(events.map(({ attribution }) => attribution)).toEqual([
      { partner: 'organic', country: 'GB', source: 'appsflyer' },
      { partner: 'organic', source: 'appsflyer' },
      { partner: 'x', ad_group: 'g', source: 'appsflyer' },
    ])
  })

  it('counts a purchase in the window of a retargeting campaign once, and skips what is no install and no event', async () => {
    const rows = [
      { ...purchase, 'Is Primary Attribution': 'true' },
      { ...purchase, 'Media Source': 'retarget', 'Is Primary Attribution': 'false' },
      { ...install, 'Event Name': 're-engagement' },
      { ...install, 'Event Name': '' },
    ]
    const { run, shelf } = await imported('appsflyer', csv(columns, rows))
    const skipped = { not_primary_attribution: 1, re_engagement: 1, no_event_name: 1 }
    expect(answerOf(run)).toMatchObject({ accepted: 1, rejected: 0, skipped })
    expect(shelf.events.size).toBe(1)
  })

  it('brings a row of two exports once', async () => {
    const { env, shelf } = await imported('appsflyer', csv(columns, [install, purchase]))
    const path = await fileWith('wider.csv', csv([...columns, 'Carrier'], [purchase, { ...install, Carrier: 'o2' }]))
    await tributary(['import', 'appsflyer', '--key', key, path], env)
    expect(shelf.events.size).toBe(2)
  })

  it('names a row that is no CSV and one whose revenue is none, and sends the rest', async () => {
    const text = `${csv(columns, [install, { ...purchase, 'Event Revenue': 'much' }])}only,three,cells\n`
    const { run, path } = await imported('appsflyer', text)
    expect(answerOf(run)).toMatchObject({ accepted: 1, rejected: 2 })
    expect(await rejectedBeside(path)).toMatchObject([
      { line: 3, reason: 'invalid_field', field: 'revenue' },
      { line: 4, reason: 'bad_csv' },
    ])
  })

  it('refuses a file of another provider and a column that is not there, and sends nothing', async () => {
    for (const options of [[], ['--install-column', 'Device Key']]) {
      const { run, events } = await imported('appsflyer', csv(['adid', 'activity_kind'], [{ adid: 'a' }]), ...options)
      expect(run).toMatchObject({ code: 2, stdout: '' })
      expect(JSON.parse(run.stderr)).toMatchObject({ error: 'unknown_column' })
      expect(events).toEqual([])
    }
  })

  it('takes the id of our SDK from install_uuid, or from the column that is named', async () => {
    const text = csv([...columns, 'install_uuid', 'Sdk Id'], [{ ...install, install_uuid: 'own', 'Sdk Id': 'other' }])
    const [own, named] = [
      await imported('appsflyer', text),
      await imported('appsflyer', text, '--install-column', 'Sdk Id'),
    ]
    expect([own.events[0]?.install_uuid, named.events[0]?.install_uuid]).toEqual(['own', 'other'])
  })

  it('goes on after it was broken off, and its counts are those of all runs', async () => {
    let down = false
    let requests = 0
    const { shelf, env } = await bulkService((request) => {
      requests += eventsOf(request).length
      down = requests > 2000
      return down ? { status: 401, body: { error: 'invalid_key' } } : null
    })
    const rows = Array.from({ length: 6000 }, (_, n) => ({
      ...purchase,
      'Event Name': n % 3 === 0 ? 're-engagement' : `level_${n}`,
      'Event Value': '',
    }))
    const path = await fileWith('export.csv.gz', gzipSync(csv(columns, rows)))
    const args = ['import', 'appsflyer', '--key', key, '--json', path]
    expect((await tributary(args, env)).code).toBe(1)
    requests = Number.NEGATIVE_INFINITY
    const run = await tributary([...args, '--resume'], env)
    expect(answerOf(run)).toMatchObject({ accepted: 4000, rejected: 0, skipped: { re_engagement: 2000 } })
    expect(shelf.events.size).toBe(4000)
  })
})

describe('tributary import adjust', () => {
  it('brings installs and events of placeholders with braces, and skips the rest by kind', async () => {
    const columns =
      '{activity_kind},{adid},{created_at},{installed_at},{click_time},{network_name},{campaign_name},{adgroup_name},{creative_name},{country},{os_name},{gps_adid},{event_name},{event},{revenue_float},{currency},{environment}'
    const names = columns.split(',')
    const row = (more: Record<string, string>) => ({ '{adid}': 'ad1', '{os_name}': 'ios', '{country}': 'us', ...more })
    const text = csv(names, [
      row({
        '{activity_kind}': 'install',
        '{created_at}': '1772366400',
        '{installed_at}': '1772366395',
        '{click_time}': '1772366300',
        '{network_name}': 'Google Ads ACI',
        '{campaign_name}': 'c',
        '{adgroup_name}': 'g',
        '{creative_name}': 'k',
      }),
      row({
        '{activity_kind}': 'install',
        '{adid}': 'ad2',
        '{installed_at}': '1772366395',
        '{network_name}': 'Organic',
      }),
      row({
        '{activity_kind}': 'event',
        '{created_at}': '1772370000',
        '{event}': 'abc123',
        '{revenue_float}': '4.5',
        '{currency}': 'USD',
      }),
      row({ '{activity_kind}': 'session', '{created_at}': '1772370001' }),
      row({ '{activity_kind}': 'install', '{created_at}': '1', '{environment}': 'sandbox' }),
    ])
    const { run, events } = await imported('adjust', text)
    expect(answerOf(run)).toMatchObject({ accepted: 3, rejected: 0, skipped: { session: 1, sandbox: 1 } })
    expect(events).toMatchObject([
      {
        event_name: 'app_install',
        event_ts_ms: 1_772_366_395_000,
        install_uuid: 'ad1',
        platform: 'ios',
        attribution: {
          ...{ partner: 'google_ads_aci', campaign: 'c', ad_group: 'g', creative: 'k', country: 'US' },
          ...{ attributed_at_ms: 1_772_366_300_000, source: 'adjust' },
        },
      },
      { install_uuid: 'ad2', attribution: { partner: 'organic', country: 'US', source: 'adjust' } },
      { event_name: 'abc123', event_ts_ms: 1_772_370_000_000, install_uuid: 'ad1', revenue: 4.5, currency: 'USD' },
    ])
  })
})

describe('tributary import branch', () => {
  it('brings installs and events by the identity of the whole file, and skips opens and clicks', async () => {
    const touch = 'last_attributed_touch_data_tilde'
    const columns = [
      'id',
      'name',
      'timestamp',
      'identity_id',
      'user_data_developer_identity',
      'user_data_os',
      'attributed',
    ]
    const more = [
      `${touch}_advertising_partner_name`,
      `${touch}_campaign`,
      `${touch}_ad_set_name`,
      'event_data_revenue',
      'event_data_currency',
      'custom_data',
    ]
    const row = (fields: Record<string, string>) => ({ identity_id: '77', user_data_os: 'ANDROID', ...fields })
    const text = csv(
      [...columns, ...more],
      [
        row({
          id: '1',
          name: 'INSTALL',
          timestamp: '1772366400123',
          attributed: 'true',
          [more[0]!]: 'Snap',
          [more[1]!]: 'c',
          [more[2]!]: 's',
        }),
        row({
          id: '2',
          name: 'PURCHASE',
          timestamp: '1772366500000',
          user_data_developer_identity: 'u',
          event_data_revenue: '2',
          event_data_currency: 'GBP',
          custom_data: '{"a":1}',
        }),
        row({ id: '3', name: 'OPEN', timestamp: '1772366500001' }),
        row({
          id: '4',
          name: 'INSTALL',
          timestamp: '1772366500002',
          identity_id: '78',
          attributed: 'false',
          [more[0]!]: 'Snap',
        }),
      ],
    )
    const { run, events } = await imported('branch', text)
    expect(answerOf(run)).toMatchObject({ accepted: 3, rejected: 0, skipped: { open: 1 } })
    expect(events).toMatchObject([
      {
        event_name: 'app_install',
        event_ts_ms: 1_772_366_400_123,
        install_uuid: '77',
        platform: 'android',
        attribution: { partner: 'snap', campaign: 'c', ad_group: 's', source: 'branch' },
      },
      {
        event_id: 'branch-2',
        event_name: 'PURCHASE',
        install_uuid: '77',
        user_id: 'u',
        revenue: 2,
        currency: 'GBP',
        props: { a: 1 },
      },
      { install_uuid: '78', attribution: { partner: 'organic', source: 'branch' } },
    ])
  })
})
