import { agents, android, day_ms, hour_ms, minute_ms, second_ms, writeStory } from './story.ts'

/** Everybody who may click on every kind of link, and what the installs after it say of the clicks. */
export function links() {
  const story = writeStory('2031-07-01T10:00:00.000Z')
  const { send, admin } = story
  story.company('shop')
  story.company('other')
  story.app('run', 'shop')
  story.app('jump', 'shop', {
    platform: 'ios',
    bundle_id: 'com.example.jump',
    store_id: '310633997',
    provider_token: '1234',
  })
  story.app('swim', 'other')
  story.link('plain', 'run')
  story.link('full', 'run', {
    campaign: 'sommer & see',
    ad_group: 'g',
    creative: 'c',
    fallback_url: 'https://example.com/fällt?x=1',
    deep_link: 'runner://level/2',
  })
  story.link('german', 'run', { countries: ['de', 'AT'], fallback_url: 'https://example.com/abroad' })
  story.link('short', 'run', { partner: 'zeta', lookback_hours: 2 })
  story.link('trap', 'run', { partner: 'trap', honeypot: true })
  story.link('apple', 'jump', { campaign: 'a very long name of a campaign of the summer' })
  story.link('elsewhere', 'swim')
  admin('GET /links?app_id={{run.app_id}}')
  for (const link of ['plain', 'full', 'apple']) {
    for (const agent of Object.values(agents)) story.click(link, { agent })
    story.click(link, { agent: agents.desktop, query: '?mobile_only=1' })
    story.click(link, { query: '?mobile_only=1&click_id=x1&sub1=a&sub2=b%20c&sub5=%F0%9F%8E%89' })
  }
  send('HEAD /l/{{full}}', { agent: agents.pixel })
  for (const purpose of ['prefetch', 'prefetch;prerender'])
    story.click('plain', { headers: { 'sec-purpose': purpose } })
  for (const ip of ['84.128.1.1', '24.0.1.1', '52.94.76.10', '10.0.0.1', '2003:c0:1::1', '::ffff:84.128.1.2']) {
    story.click('german', { ip })
    story.click('german', { ip, agent: agents.desktop })
    story.click('plain', { ip })
  }
  story.click('trap', { ip: '198.51.100.40', headers: { 'sec-fetch-dest': 'image' } })
  story.click('plain', { ip: '198.51.100.40' })
  story.click('trap', { ip: '198.51.100.40', headers: { 'sec-fetch-dest': 'document' } })
  story.click('plain', { ip: '198.51.100.40' })
  story.click('full', { ip: '198.51.100.40', agent: agents.desktop })
  story.click('elsewhere', { ip: '198.51.100.40' })
  story.click('plain', { ip: '198.51.100.41' })
  story.wait(23 * hour_ms)
  story.click('trap', { ip: '198.51.100.40' })
  story.wait(2 * hour_ms)
  story.click('plain', { ip: '198.51.100.40' })
  story.wait(23 * hour_ms)
  story.click('plain', { ip: '198.51.100.40' })
  send('GET /l/{{plain}}', { agent: agents.pixel, ip: '203.0.113.{{n}}', times: 303, every_ms: 10 })
  story.click('plain', { ip: '203.0.114.1' })
  story.click('elsewhere', { ip: '203.0.113.1' })
  story.wait(61 * second_ms)
  story.click('plain', { ip: '203.0.113.1', keep_click: 'again' })
  const ids = '?click_id=partner-1&sub1=one&gaid=ABCDEFAB-0000-4000-8000-000000000001&sub1=two'
  story.click('full', { ip: '203.0.115.1', query: ids, keep_click: 'whole' })
  story.click('short', { ip: '203.0.115.2', keep_click: 'early' })
  story.settle()
  story.wait(2 * hour_ms - 3 * second_ms)
  const referrer = (click: string) => ({ props: { install_referrer: `utm_source=x&tb_click={{${click}}}` } })
  story.install('run', 'in_time', referrer('early'))
  story.install('run', 'whole', referrer('whole'))
  story.install('run', 'again', referrer('again'))
  story.settle()
  admin('POST /links/{{plain}}/disable')
  admin('POST /links/{{trap}}/disable')
  story.click('plain', { ip: '203.0.116.1' })
  story.click('trap', { ip: '203.0.116.2' })
  admin('POST /links/{{plain}}/enable')
  story.click('plain', { ip: '203.0.116.1', keep_click: 'enabled' })
  admin('POST /companies/{{other.company_id}}/suspend')
  story.click('elsewhere', { ip: '203.0.116.3' })
  admin('PATCH /apps/{{run.app_id}}', { bundle_id: '' })
  admin('PATCH /apps/{{jump.app_id}}', { store_id: '' })
  admin('GET /apps?company_id={{shop.company_id}}')
  story.restart()
  story.click('full', { ip: '203.0.116.4' })
  for (const n of [1, 2, 3]) send(`GET /l/AAAAAAAAAAA${n}`, { agent: agents.pixel })
  story.settle()
  story.wait(minute_ms)
  const since_ms = Date.UTC(2031, 6, 1)
  story.ask({
    ...{
      key: 'run.key',
      since_ms,
      until_ms: since_ms + 6 * day_ms,
      partners: ['acme', 'zeta', 'organic'],
      reports: ['attribution'],
    },
    installs: ['in_time', 'whole', 'again'],
  })
  return story.steps
}

/** The four methods in every order, their windows at the edges, reinstalls, and the settings of an app. */
export function methods() {
  const story = writeStory('2031-08-04T10:00:00.000Z')
  const { admin } = story
  story.company('shop')
  story.app('run', 'shop')
  story.app('jump', 'shop', { platform: 'ios', bundle_id: 'com.example.jump', store_id: '310633998' })
  story.link('acme', 'run')
  story.link('zeta', 'run', { partner: 'zeta', campaign: 'z' })
  story.link('long', 'run', { partner: 'long', lookback_hours: 720 })
  story.link('apple', 'jump', { partner: 'fruit' })
  const phone = (n: number) => ({ ip: `198.18.${n}.1` })
  const tap = (link: string, keep_click: string, n: number, query = '') =>
    story.click(link, { ...phone(n), keep_click, query })
  const install = (name: string, n: number, more: object = {}) =>
    story.install('run', name, {
      given: phone(n),
      device: { ...android, gaid: `dddddddd-0000-4000-8000-0000000000${n + 10}` },
      ...more,
    })
  const gaid = (n: number) => `?gaid=DDDDDDDD-0000-4000-8000-0000000000${n + 10}`
  const named = (click: string) => ({ install_referrer: `a=b&tb_click={{${click}}}` })
  tap('acme', 'c1', 1)
  tap('zeta', 'c2', 1)
  tap('acme', 'c3', 2, gaid(3))
  tap('zeta', 'c4', 4)
  tap('acme', 'c5', 5)
  tap('zeta', 'c6', 5)
  tap('acme', 'c7', 6)
  tap('acme', 'c8', 7)
  tap('acme', 'c9', 8)
  tap('zeta', 'c10', 9, gaid(9))
  tap('acme', 'c11', 9)
  tap('zeta', 'c12', 10)
  tap('long', 'c13', 11)
  tap('acme', 'c14', 12)
  tap('acme', 'c15', 13, gaid(14))
  tap('acme', 'c16', 15)
  story.settle()
  story.wait(20 * minute_ms)
  install('by_referrer', 1, { props: named('c1') })
  install('by_device', 3)
  install('by_address', 4)
  install('ambiguous', 5)
  install('by_click_id', 16, { props: { click_id: '{{c7}}' } })
  install('by_bare_id', 17, { props: { click_id: '{{c8.id}}' } })
  install('unsigned', 18, { props: { install_referrer: 'tb_click={{c9.id}}' } })
  install('forged', 9, { props: { install_referrer: 'tb_click={{c10.id}}.000000000000' } })
  install('weaker', 9, { props: { click_id: '{{c11}}' } })
  install('other_model', 10, { device: { os: 'android', os_version: '14', model: 'Pixel 9' } })
  install('no_model', 10, { device: { os: 'android', os_version: 14.1 } })
  install('other_version', 12, { device: { os: 'android', os_version: '13' } })
  install('unknown_click', 19, { props: { click_id: '01234567-89ab-7cde-8f01-23456789abcd' } })
  story.settle()
  // The click is used; an earlier install takes it away, and the later one goes on with its next.
  tap('zeta', 'c20', 20, gaid(20))
  tap('acme', 'c21', 20, gaid(20))
  story.settle()
  story.wait(hour_ms)
  install('later', 20, { props: named('c21') })
  story.settle()
  install('earlier', 21, { props: named('c21'), event_ts_ms: story.now() - 30 * minute_ms })
  story.settle()
  install('too_late', 22, { props: named('c21') })
  install('after_install', 23, { event_ts_ms: story.now() })
  story.settle()
  tap('acme', 'c23', 23)
  story.settle()
  // Windows, [start, start + window), at their edges.
  story.until('2031-08-05T00:00:00.000Z')
  tap('acme', 'w1', 30)
  tap('acme', 'w2', 31)
  tap('acme', 'w3', 32, gaid(33))
  story.settle()
  story.until('2031-08-06T00:00:00.999Z')
  install('in_a_day', 30)
  story.until('2031-08-06T00:00:02.000Z')
  install('over_a_day', 31)
  story.until('2031-08-12T00:00:02.000Z')
  install('over_a_week', 34, { props: named('w2') })
  story.until('2031-08-12T00:00:02.999Z')
  install('in_a_week', 33)
  story.settle()
  admin('PATCH /apps/{{run.app_id}}', { click_window_hours: 240, probabilistic: false, reinstall_days: 1 })
  install('wider', 35, { props: named('w2') })
  tap('acme', 'w4', 36)
  story.settle()
  install('no_address', 36)
  admin('PATCH /apps/{{run.app_id}}', { probabilistic: true, probabilistic_window_hours: 1 })
  install('address_again', 36)
  install('by_long_link', 37, { props: named('c13') })
  story.settle()
  // Reinstalls by device and by user, within and beyond their days.
  install('first', 40, { user_id: 'ann' })
  story.event('run.key', { event_id: 'alias', event_name: '_user_alias', install_uuid: 'first', user_id: 'ann_two' })
  story.settle()
  story.wait(10 * hour_ms)
  install('same_device', 40)
  install('same_user', 41, { user_id: 'ann' })
  install('same_alias', 42, { user_id: 'ann_two' })
  story.event('run.key', {
    event_id: 'b',
    event_name: 'app_install',
    install_uuid: 'of_backend',
    user_id: 'ann',
    device: { os: 'android', os_version: '14', model: 'Pixel 8', ip: '198.18.36.1' },
  })
  story.settle()
  story.wait(40 * hour_ms)
  install('not_again', 40)
  story.install('run', 'hashed', {
    given: phone(43),
    device: {
      ...android,
      app_set_id: 'AAAAAAAA-1111-4111-8111-111111111111',
      gaid: '00000000-0000-0000-0000-000000000000',
    },
  })
  story.settle()
  story.install('run', 'hash_told', {
    given: phone(44),
    device: {
      ...android,
      app_set_id: ' aaaaaaaa-1111-4111-8111-111111111111 ',
      gaid: '00000000-0000-0000-0000-000000000000',
    },
  })
  story.settle()
  story.click('apple', { agent: agents.iphone, ip: '198.18.50.1', query: '?idfa=bbbbbbbb-2222-4222-8222-222222222222' })
  story.settle()
  story.install('jump', 'iphone', {
    given: { ip: '198.18.51.1' },
    device: { os: 'ios', os_version: '17.5', idfa: 'BBBBBBBB-2222-4222-8222-222222222222' },
  })
  story.install('jump', 'iphone_address', { given: { ip: '198.18.50.1' }, device: { os: 'ios', os_version: '17.5' } })
  story.settle()
  const installs = [
    ...[
      'by_referrer',
      'by_device',
      'by_address',
      'ambiguous',
      'by_click_id',
      'by_bare_id',
      'unsigned',
      'forged',
      'weaker',
      'other_model',
    ],
    ...[
      'no_model',
      'other_version',
      'unknown_click',
      'later',
      'earlier',
      'too_late',
      'after_install',
      'in_a_day',
      'over_a_day',
      'in_a_week',
    ],
    ...[
      'over_a_week',
      'wider',
      'no_address',
      'address_again',
      'by_long_link',
      'first',
      'same_device',
      'same_user',
      'same_alias',
      'of_backend',
    ],
    ...['not_again', 'hashed', 'hash_told'],
  ]
  const since_ms = Date.UTC(2031, 7, 4)
  const window = { since_ms, until_ms: since_ms + 20 * day_ms }
  story.ask({
    key: 'run.key',
    ...window,
    reports: ['attribution', 'cohorts'],
    partners: ['acme', 'zeta', 'long'],
    windows: [[since_ms + day_ms, since_ms + 2 * day_ms + 1]],
    installs,
  })
  story.ask({ key: 'jump.key', ...window, reports: ['attribution'], few: true, installs: ['iphone', 'iphone_address'] })
  return story.steps
}

/** Each fraud flag, with who just escapes it. */
export function fraud() {
  const story = writeStory('2031-09-01T10:00:00.000Z')
  story.company('shop')
  story.app('run', 'shop')
  story.link('acme', 'run')
  story.link('trap', 'run', { partner: 'trap', honeypot: true })
  story.link('flood', 'run', { partner: 'flood', campaign: 'f' })
  story.link('clean', 'run', { partner: 'clean', campaign: 'c' })
  const plain = (n: number) => ({
    given: { ip: `198.19.${n}.1` },
    device: { os: 'android', os_version: '11', model: `M${n}` },
  })
  const named = (click: string, more = {}) => ({ props: { install_referrer: `tb_click={{${click}}}`, ...more } })
  for (const n of [1, 2, 3, 4]) story.click('acme', { keep_click: `c${n}`, ip: `198.19.${n}.9` })
  const clicked_s = Math.floor(story.now() / second_ms)
  story.settle()
  story.wait(5 * minute_ms)
  story.install('run', 'injected', {
    ...plain(1),
    ...named('c1', { referrer_click_server_s: clicked_s + 60, install_begin_server_s: String(clicked_s) }),
  })
  story.install('run', 'not_injected', {
    ...plain(2),
    ...named('c2', { referrer_click_server_s: clicked_s, install_begin_server_s: clicked_s + 60 }),
  })
  story.install('run', 'unknown_times', {
    ...plain(3),
    ...named('c3', { referrer_click_server_s: clicked_s, install_begin_server_s: 0 }),
  })
  story.install('run', 'forged', { ...plain(4), props: { click_id: '{{c4.id}}.ABCDEF' } })
  story.click('acme', { keep_click: 'fast', ip: '198.19.5.9' })
  story.click('acme', { keep_click: 'slow', ip: '198.19.6.9' })
  const tapped = story.now()
  story.settle()
  story.wait(minute_ms)
  story.install('run', 'fast', { ...plain(5), ...named('fast'), event_ts_ms: tapped - second_ms + 9_999 })
  story.install('run', 'slow', { ...plain(6), ...named('slow'), event_ts_ms: tapped + 10_000 })
  story.install('run', 'datacenter', { ...plain(7), given: { ip: '52.94.76.11' } })
  story.event('run.key', {
    event_id: 'i',
    event_name: 'app_install',
    install_uuid: 'backend',
    device: { ip: '52.94.76.11' },
  })
  story.click('trap', { ip: '198.19.8.1' })
  story.settle()
  story.install('run', 'blocked', plain(8))
  story.wait(25 * hour_ms)
  story.install('run', 'blocked_no_more', { ...plain(8), device: { os: 'android' } })
  story.settle()
  // Installs of one network within the hour: the twenty-first has the flag.
  story.send('POST /event', {
    ...{ as: story.as('run'), ip: '198.51.100.{{n}}', times: 20, every_ms: second_ms },
    body: { events: [{ event_id: 'i', event_name: 'app_install', install_uuid: 'burst-{{n}}' }] },
  })
  story.settle()
  story.install('run', 'burst', { ...plain(9), given: { ip: '198.51.100.99' } })
  story.install('run', 'other_network', { ...plain(10), given: { ip: '198.51.101.99' } })
  story.wait(hour_ms)
  story.install('run', 'hour_later', { ...plain(11), given: { ip: '198.51.100.98' } })
  story.settle()
  // Fifty installs name one device; a click of it brings the early ones alone.
  story.click('acme', { query: '?gaid=cccccccc-3333-4333-8333-333333333333', ip: '198.19.12.9' })
  story.settle()
  story.wait(minute_ms)
  const crowd = { os: 'android', gaid: 'CCCCCCCC-3333-4333-8333-333333333333' }
  story.send('POST /event', {
    ...{ as: story.as('run'), ip: '198.18.{{n}}.1', times: 50, every_ms: 100 },
    body: { events: [{ event_id: 'i', event_name: 'app_install', install_uuid: 'crowd-{{n}}', device: crowd }] },
  })
  story.settle()
  story.install('run', 'crowded', { given: { ip: '198.19.13.1' }, device: crowd })
  story.settle()
  // A source floods beside a clean one, on a day of its own.
  story.until('2031-09-05T08:00:00.000Z')
  story.send('GET /l/{{flood}}', { agent: agents.reduced, ip: '2001:db8:{{n}}::1', times: 1000 })
  story.send('GET /l/{{clean}}', { agent: agents.reduced, ip: '2001:db8:{{n}}::2', times: 99 })
  story.click('flood', { keep_click: 'flooded', ip: '2001:db8:2000::1' })
  story.click('clean', { keep_click: 'clean1', ip: '2001:db8:2001::1' })
  for (const n of [2, 3]) story.click('clean', { keep_click: `clean${n}`, ip: `2001:db8:200${n}::1` })
  story.settle()
  story.wait(hour_ms)
  story.install('run', 'flooded', { ...plain(20), ...named('flooded') })
  for (const n of [1, 2, 3]) story.install('run', `clean${n}`, { ...plain(20 + n), ...named(`clean${n}`) })
  for (const _ of [1, 2]) {
    story.jobs()
    story.wait(2 * minute_ms)
  }
  story.jobs()
  const since_ms = Date.UTC(2031, 8, 1)
  story.ask({
    ...{
      key: 'run.key',
      since_ms,
      until_ms: since_ms + 8 * day_ms,
      partners: ['acme', 'flood', 'clean'],
      reports: ['attribution'],
    },
    installs: [
      ...[
        'injected',
        'not_injected',
        'unknown_times',
        'forged',
        'fast',
        'slow',
        'datacenter',
        'backend',
        'blocked',
        'blocked_no_more',
        'burst-0',
      ],
      ...[
        'burst-19',
        'burst',
        'other_network',
        'hour_later',
        'crowd-0',
        'crowd-49',
        'crowded',
        'flooded',
        'clean1',
        'clean3',
      ],
    ],
  })
  return story.steps
}
