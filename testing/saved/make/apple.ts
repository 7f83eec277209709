import { day_ms, hour_ms, minute_ms, second_ms, writeStory } from './story.ts'

const production = 'apple-cas-identifier/0'
const development = 'apple-development-identifier/1'
const versions = ['1.0', '2.0', '2.1', '2.2', '3.0', '4.0']

/** Postbacks of every version and key, the schemas that decode them, and the apps that they belong to. */
export function apple() {
  const story = writeStory('2031-10-06T10:00:00.000Z')
  const { send, admin, as } = story
  story.company('shop')
  story.company('other')
  story.app('run', 'shop', { platform: 'ios', store_id: '525463029' })
  story.app('jump', 'shop', { platform: 'ios', store_id: '1108' })
  story.app('droid', 'shop')
  story.app('late', 'other', { platform: 'ios' })
  const skan = (version: string, id: string, more: object = {}) => {
    const own = {
      ...(version === '4.0' ? { 'source-identifier': '5239', 'postback-sequence-index': 0 } : { 'campaign-id': 42 }),
      ...(version >= '2.2' && { 'fidelity-type': 1 }),
      ...(version >= '3.0' && { 'did-win': true }),
      ...(version >= '2.0' && { version, redownload: false }),
    }
    const all = {
      'ad-network-id': 'example123.skadnetwork',
      'app-id': 525_463_029,
      'transaction-id': id,
      'conversion-value': 20,
      ...own,
    }
    send('POST /skan-postback', { apple: version, body: { ...all, ...more } })
  }
  const aak = (kid: string, id: string, more: object = {}) => {
    const all = {
      ...{
        'postback-identifier': id,
        'advertised-item-identifier': 525_463_029,
        'ad-network-identifier': 'example123.adattributionkit',
      },
      ...{
        'publisher-item-identifier': 1108,
        'did-win': true,
        'postback-sequence-index': 0,
        'conversion-type': 'download',
        'source-identifier': '1234',
      },
    }
    send('POST /aak-postback', { apple: kid, body: { ...all, ...more } })
  }
  const fine = [
    { value: 0, name: 'opened', event_name: 'app_open' },
    { value: 20, name: 'buyer', revenue_min_usd: 0.99, revenue_max_usd: 5 },
    { value: 63, name: 'whale', revenue_min_usd: 5 },
  ]
  const coarse = [
    { value: 'low', name: 'opened' },
    { value: 'high', name: 'buyer', revenue_min_usd: 1, revenue_max_usd: 2.5 },
  ]
  const first = { postback_sequence_index: 0, window_hours: 48, lock_window: false, fine, coarse }
  const schema = (...postbacks: object[]) => ({ app_id: '{{run.app_id}}', schema: { postbacks } })
  admin('POST /cv-schemas', schema(first, { postback_sequence_index: 1, window_hours: 168, coarse }))
  for (const wrong of [
    { ...first, window_hours: 24 },
    { ...first, fine: [...fine, { value: 0, name: 'twice' }] },
    { ...first, fine: [...fine, { value: 5, name: 'overlap', revenue_min_usd: 4, revenue_max_usd: 6 }] },
    { ...first, fine: [{ value: 64, name: 'x' }] },
    { ...first, fine: [{ value: 1, name: 'x', revenue_max_usd: 6 }] },
    { ...first, colour: 'red' },
  ])
    admin('POST /cv-schemas', schema(wrong))
  admin('POST /cv-schemas', { app_id: '{{droid.app_id}}', schema: { postbacks: [first] } })
  admin('POST /cv-schemas/compare', schema({ ...first, lock_window: true, fine: fine.slice(1) }))
  admin('GET /cv-schemas?app_id={{run.app_id}}')
  for (const app of ['run', 'droid', 'jump']) send('GET /skan/cv-schema', { as: as(app) })
  send('GET /skan/cv-schema', { headers: { 'x-service-company-key': '{{shop.company_key}}' } })
  for (const path of ['/skan-postback', '/aak-postback', '/.well-known/skadnetwork/report-attribution/'])
    send(`GET ${path}`)
  for (const path of ['/skan-postback', '/aak-postback'])
    for (const body of ['', '[]', '{', '{}', 'a.b.c', '{"jws-string":"a.b"}', '{"a":1,"a":2}', '{{x:8193}}'])
      send(`POST ${path}`, { body })
  story.settle()
  story.until('2031-11-20T10:00:00.000Z')
  for (const version of versions) skan(version, `of-${version}`)
  // Variants of one that wins, a loser, forgeries, and the same bytes again.
  skan('4.0', 'variant')
  skan('4.0', 'variant', { 'conversion-value': 63 })
  skan('4.0', 'variant', { 'conversion-value': undefined, 'coarse-conversion-value': 'high' })
  skan('4.0', 'index', {
    'postback-sequence-index': 1,
    'conversion-value': undefined,
    'coarse-conversion-value': 'high',
  })
  skan('4.0', 'index', {
    'postback-sequence-index': 2,
    'conversion-value': undefined,
    'coarse-conversion-value': 'medium',
  })
  skan('4.0', 'null', { 'conversion-value': undefined, 'source-identifier': '39' })
  skan('4.0', 'odd', { 'conversion-value': 64, 'coarse-conversion-value': 'huge' })
  skan('4.0', 'web', { 'source-domain': 'example.com', 'source-identifier': '77' })
  skan('4.0', 'source', { 'source-app-id': 1108, 'source-identifier': '77' })
  skan('3.0', 'lost', { 'did-win': false })
  skan('3.0', 'again', { redownload: true, 'conversion-value': 0 })
  skan('2.2', 'network', { 'ad-network-id': 'other1.skadnetwork', 'campaign-id': 7 })
  skan('1.0', 'bands', { 'conversion-value': 63 })
  skan('3.0', 'elsewhere', { 'app-id': 999, 'source-app-id': 1108 })
  const forged = {
    version: '4.0',
    'ad-network-id': 'forged.skadnetwork',
    'source-identifier': '1',
    'app-id': 525_463_029,
    redownload: false,
    'fidelity-type': 1,
    'did-win': true,
    'postback-sequence-index': 0,
    'attribution-signature': 'MEUCIQ==',
  }
  for (const id of ['f1', 'f1', 'f2']) send('POST /skan-postback', { body: { ...forged, 'transaction-id': id } })
  send('POST /skan-postback', { body: { ...forged, version: '5.0', 'transaction-id': 'unknown-version' } })
  send('POST /skan-postback', { body: { ...forged, 'transaction-id': 'of-4.0' } })
  aak(production, 'A1')
  aak(production, 'A2', { 'conversion-type': 'redownload', 'conversion-value': 20 })
  aak(production, 'A3', { 'conversion-type': 're-engagement', 'coarse-conversion-value': 'low' })
  aak(production, 'A4', { 'conversion-type': 'teleport' })
  aak(production, 'A5', { 'did-win': false })
  aak(production, 'A6', { 'advertised-item-identifier': 424_242, 'country-code': 'DE' })
  aak(development, 'D1', { 'conversion-value': 20 })
  aak(development, 'A1', { 'conversion-value': 63 })
  aak('nobodys-key', 'N1')
  story.settle()
  const window = { since_ms: Date.UTC(2031, 10, 17), until_ms: Date.UTC(2031, 11, 3, 11, 30), reports: ['skan'] }
  const ask = () => {
    for (const app of ['run', 'jump', 'late', 'droid']) story.ask({ key: `${app}.key`, ...window, few: true })
  }
  ask()
  // Everything that acts when a report is read.
  admin('PATCH /apps/{{run.app_id}}', { development_keys: true })
  story.ask({ key: 'run.key', ...window, few: true })
  admin(
    'POST /cv-schemas',
    schema({ ...first, fine: fine.slice(1), coarse: [{ value: 'high', name: 'rich', revenue_min_usd: 100 }] }),
  )
  admin('GET /cv-schemas?app_id={{run.app_id}}&version=1')
  send('GET /skan/cv-schema', { as: as('run') })
  for (const hours of [1, 95, 97, 311, 313]) {
    story.until(new Date(Date.UTC(2031, 10, 20, 10) + hours * hour_ms).toISOString())
    skan('4.0', `after-${hours}`)
    skan('4.0', `after-${hours}`, {
      'postback-sequence-index': 1,
      'conversion-value': undefined,
      'coarse-conversion-value': 'high',
    })
    skan('3.0', `after-${hours}`)
    aak(production, `AFTER${hours}`, { 'conversion-value': 63 })
  }
  story.settle()
  ask()
  admin('PATCH /apps/{{late.app_id}}', { store_id: '525463029' })
  admin('PATCH /apps/{{late.app_id}}', { store_id: '00999' })
  admin('POST /apps/{{jump.app_id}}/move-store-id', { store_id: '525463029' })
  admin('POST /apps/{{droid.app_id}}/move-store-id', { store_id: '525463029' })
  admin('GET /apps?company_id={{shop.company_id}}')
  ask()
  admin('POST /apps/{{run.app_id}}/move-store-id', { store_id: '525463029' })
  // More made-up sources than a report names, and more than an address may send.
  send('POST /skan-postback', {
    ip: '203.0.{{n}}.1',
    times: 1005,
    body: { ...forged, 'transaction-id': 'g-{{n}}', 'source-identifier': '{{n}}' },
  })
  send('POST /skan-postback', { ip: '192.0.2.1', times: 590, body: '{}' })
  send('POST /skan-postback', { ip: '192.0.2.1', times: 13, every_ms: 1, body: '{}' })
  story.wait(minute_ms + second_ms)
  send('POST /skan-postback', { ip: '192.0.2.1', body: '{}' })
  story.settle()
  const folded = Math.floor(story.now() / day_ms) * day_ms
  for (const offset of [0, 990])
    send(`GET /api/v1/reports/skan?since_ms=${folded}&until_ms=${folded + day_ms}&limit=12&offset=${offset}`, {
      key: 'run.key',
    })
  send(`GET /api/v1/reports/skan?since_ms=${folded}&until_ms=${folded + day_ms}&limit=3&format=csv`, { key: 'run.key' })
  story.until('2031-12-27T10:00:00.000Z')
  story.jobs()
  story.jobs()
  ask()
  story.ask({ key: 'run.key', ...window, windows: [[Date.UTC(2031, 10, 20, 10), Date.UTC(2031, 10, 20, 10, 0, 7)]] })
  return story.steps
}
