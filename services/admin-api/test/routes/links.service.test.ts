import { Link, LinkCreated } from '@tributary/contracts/admin/links'
import { limits } from '@tributary/contracts/limits'
import { describe, expect, test } from 'vitest'
import { adminApiUnderTest } from '../admin-api-under-test.ts'
import { adminApp, authorization } from '../admin-app.ts'

const made_at_ms = Date.UTC(2026, 0, 2, 3, 4, 5, 678)
const link_url = 'https://go.example.com/'
const { ask, pool, query, newApp, newCompany, auditOf } = adminApiUnderTest({ now: () => made_at_ms, link_url })

const newLink = async (body: object) => LinkCreated.strict().parse((await ask('POST', '/links', body)).body)
const linksOf = async (app_id: string) =>
  Link.strict()
    .array()
    .parse((await ask('GET', `/links?app_id=${app_id}`)).body.links)
const nothing = {
  ...{ campaign: null, ad_group: null, creative: null, fallback_url: null, deep_link: null, countries: null },
  ...{ lookback_hours: null, honeypot: false, status: 'enabled', created_at_ms: made_at_ms },
}

test('a link of a partner alone allows everything', async () => {
  const { app_id } = await newApp()
  const { link_id, url } = await newLink({ app_id, partner: 'acme' })
  expect(link_id).toMatch(/^[A-Za-z0-9]{12}$/)
  expect(url).toBe(`https://go.example.com/l/${link_id}`)
  expect(await linksOf(app_id)).toEqual([{ ...nothing, link_id, url, app_id, partner: 'acme' }])
})

test('a fleet that does not know the address of its links makes none, and lists those that are there without one', async () => {
  const { app_id } = await newApp()
  const { link_id } = await newLink({ app_id, partner: 'acme' })
  const fleet = await adminApp(pool(), { serves_links: false })
  const links = (options: object) =>
    fleet.inject({ url: '/admin/api/v1/links', headers: { authorization }, ...options })
  const refused = await links({ method: 'POST', payload: JSON.stringify({ app_id, partner: 'acme' }) })
  expect([refused.statusCode, refused.json()]).toMatchObject([
    400,
    { error: 'invalid_field', field: 'TRIBUTARY_LINK_URL', message: expect.stringContaining('set TRIBUTARY_LINK_URL') },
  ])
  const listed = await links({ query: { app_id } })
  expect(listed.json().links.map((one: Link) => [one.link_id, one.url])).toEqual([[link_id, null]])
  const standalone = await adminApp(pool(), { serves_links: true })
  const there = await standalone.inject({
    url: `/admin/api/v1/links?app_id=${app_id}`,
    headers: { authorization, host: 'x:1' },
  })
  expect(there.json().links[0].url).toBe(`http://x:1/l/${link_id}`)
  await Promise.all([fleet.close(), standalone.close()])
})

test('a link keeps all that it was made with', async () => {
  const { app_id } = await newApp()
  const given = {
    ...{ app_id, partner: 'acme', campaign: 'Summer & más', ad_group: 'group', creative: 'video 7' },
    ...{ fallback_url: 'https://example.com', deep_link: 'acme-game://level/7?x=1', countries: ['AT', 'DE'] },
    ...{ lookback_hours: 720, honeypot: true },
  }
  const made = await newLink(given)
  expect(await linksOf(app_id)).toEqual([{ ...nothing, ...made, ...given }])
  expect(await auditOf(made.link_id)).toMatchObject([{ action: 'link.create', detail: given }])
})

test('links of an app are listed as they were made, and those of others are not', async () => {
  const [one, other] = [await newApp(), await newApp()]
  const made = []
  for (const partner of ['c', 'a', 'b']) made.push(await newLink({ app_id: one.app_id, partner }))
  await newLink({ app_id: other.app_id, partner: 'd' })
  const listed = await linksOf(one.app_id)
  expect(new Set(listed.map(({ link_id }) => link_id))).toEqual(new Set(made.map(({ link_id }) => link_id)))
  expect(await linksOf((await newApp()).app_id)).toEqual([])
})

test('values are brought to one form', async () => {
  const { app_id } = await newApp()
  const fallback_url = 'https://bücher.example/a b'
  const given = {
    partner: 'ACME_Ads-1',
    countries: ['de', 'DE', 'at'],
    fallback_url,
    deep_link: 'HTTPS://example.com/x',
  }
  await newLink({ app_id, ...given })
  expect(await linksOf(app_id)).toMatchObject([
    {
      ...{ partner: 'acme_ads-1', countries: ['DE', 'AT'], deep_link: 'HTTPS://example.com/x' },
      fallback_url: 'https://xn--bcher-kva.example/a%20b',
    },
  ])
})

test('a link is disabled and enabled, as often as asked, and each change is logged once', async () => {
  const { app_id } = await newApp()
  const { link_id } = await newLink({ app_id, partner: 'acme' })
  for (const [action, status] of [
    ['disable', 'disabled'],
    ['disable', 'disabled'],
    ['enable', 'enabled'],
    ['enable', 'enabled'],
  ]) {
    expect((await ask('POST', `/links/${link_id}/${action}`)).body).toEqual({ link_id, status })
    expect(await linksOf(app_id)).toMatchObject([{ status }])
  }
  const actions = (await auditOf(link_id)).map(({ action }) => action)
  expect(actions).toEqual(['link.create', 'link.disable', 'link.enable'])
})

const long = (chars: number) => 'x'.repeat(chars)

describe('refuses', () => {
  test.each<[value: object, field: string]>([
    [{ partner: undefined }, 'partner'],
    [{ partner: '' }, 'partner'],
    [{ partner: long(65) }, 'partner'],
    [{ partner: 'acme ads' }, 'partner'],
    [{ partner: 'acme.ads' }, 'partner'],
    [{ partner: 'acmé' }, 'partner'],
    [{ partner: '\u212Aiosk' }, 'partner'],
    [{ partner: 'acme\n' }, 'partner'],
    [{ partner: 'organic' }, 'partner'],
    [{ partner: 'Organic' }, 'partner'],
    [{ partner: 7 }, 'partner'],
    [{ campaign: long(129) }, 'campaign'],
    [{ campaign: '' }, 'campaign'],
    [{ campaign: 'a\u0000' }, 'campaign'],
    [{ ad_group: long(129) }, 'ad_group'],
    [{ creative: long(129) }, 'creative'],
    [{ fallback_url: 'http://example.com' }, 'fallback_url'],
    [{ fallback_url: '//example.com' }, 'fallback_url'],
    [{ fallback_url: '/path' }, 'fallback_url'],
    [{ fallback_url: 'example.com' }, 'fallback_url'],
    [{ fallback_url: 'https:example.com' }, 'fallback_url'],
    [{ fallback_url: 'https:///example.com' }, 'fallback_url'],
    [{ fallback_url: 'https://' }, 'fallback_url'],
    [{ fallback_url: 'https://exa mple.com' }, 'fallback_url'],
    [{ fallback_url: 'https://example.com/\r\nSet-Cookie: a=b' }, 'fallback_url'],
    [{ fallback_url: 'javascript:alert(1)' }, 'fallback_url'],
    [{ fallback_url: 'https://user:secret@example.com/' }, 'fallback_url'],
    [{ fallback_url: 'https://user@example.com/' }, 'fallback_url'],
    [{ fallback_url: 'https://:secret@example.com/' }, 'fallback_url'],
    [{ fallback_url: 'https://example.com%40evil.example:x@example.com/' }, 'fallback_url'],
    [{ fallback_url: 'acme-game://level' }, 'fallback_url'],
    [{ fallback_url: `https://example.com/${long(2048)}` }, 'fallback_url'],
    ...[
      ...['javascript:alert(1)', 'JavaScript://%0aalert(1)', 'data:text/html,x', 'DATA:,x', 'file:///etc/passwd'],
      ...['vbscript:x', 'blob:https://a/b', 'about:blank', 'view-source:https://a', 'http://example.com', 'ftp://a/b'],
      ...['intent://a#Intent;end', 'content://a/b', 'filesystem:https://a', 'java\tscript:alert(1)', ' javascript:x'],
      ...['https://user:secret@example.com/', 'acme-game://user:secret@level', 'acme-game://user@level'],
      ...['level', '/level', '//a/b', 'acme-game:', '1game://a', 'https:a', ''],
    ].map((deep_link): [object, string] => [{ deep_link }, 'deep_link']),
    [{ countries: [] }, 'countries'],
    [{ countries: ['UK'] }, 'countries'],
    [{ countries: ['DEU'] }, 'countries'],
    [{ countries: ['DE', ''] }, 'countries'],
    [{ countries: 'DE' }, 'countries'],
    [{ lookback_hours: 0 }, 'lookback_hours'],
    [{ lookback_hours: 721 }, 'lookback_hours'],
    [{ lookback_hours: 1.5 }, 'lookback_hours'],
    [{ lookback_hours: '24' }, 'lookback_hours'],
    [{ honeypot: 'yes' }, 'honeypot'],
    [{ colour: 'red' }, 'colour'],
  ])('a bad value by its name: %j', async (value, field) => {
    const answer = await ask('POST', '/links', { app_id: 'app_1', partner: 'acme', ...value })
    expect(answer).toMatchObject({ status: 400, body: { error: 'invalid_field', field } })
  })

  test('a link of an app that has no page in its store', async () => {
    const { company_id } = await newCompany()
    for (const [platform, wrong, field] of [
      ['ios', { bundle_id: 'com.acme' }, 'store_id'],
      ['android', { store_id: '123' }, 'bundle_id'],
      ['android', { bundle_id: '' }, 'bundle_id'],
    ] as const) {
      const { app_id } = (await ask('POST', '/apps', { company_id, name: 'Game', platform, ...wrong })).body
      const refused = await ask('POST', '/links', { app_id, partner: 'acme' })
      expect(refused).toMatchObject({ status: 400, body: { error: 'invalid_field', field } })
      expect(await linksOf(app_id)).toEqual([])
    }
  })

  test('a change that takes the page from an app with links, even disabled ones, and nothing of it is done', async () => {
    const { app_id } = await newApp()
    const { link_id } = await newLink({ app_id, partner: 'acme' })
    await ask('POST', `/links/${link_id}/disable`)
    const refused = await ask('PATCH', `/apps/${app_id}`, { store_id: '', name: 'Other' })
    expect(refused).toMatchObject({ status: 400, body: { error: 'invalid_field', field: 'store_id' } })
    const changed = await ask('PATCH', `/apps/${app_id}`, { bundle_id: '', store_id: '77' })
    expect(changed.body).toMatchObject({ name: 'Game', store_id: '77' })
  })

  test('of a link and a removal of the page at the same time, at least one', async () => {
    for (let round = 0; round < 10; round += 1) {
      const { app_id } = await newApp()
      const both = await Promise.all([
        ask('POST', '/links', { app_id, partner: 'acme' }),
        ask('PATCH', `/apps/${app_id}`, { store_id: '' }),
      ])
      expect(both.map(({ status }) => status).toSorted()).toEqual([200, 400])
    }
  })

  test('more links than an app may have', async () => {
    const { app_id } = await newApp()
    await query(
      `INSERT INTO links (link_id, app_id, partner, honeypot, created_at)
       SELECT lpad(n::text, 12, '0'), $1, 'acme', false, now() FROM generate_series(1, $2) n`,
      [app_id, limits.app_links_max],
    )
    const refused = await ask('POST', '/links', { app_id, partner: 'acme' })
    expect(refused).toMatchObject({ status: 400, body: { error: 'invalid_field', field: 'app_id' } })
  })

  test.each(['app_00000000000000000000', 'nothing'])('links of an unknown app: %s', async (app_id) => {
    const expected = { status: 404, body: { error: 'unknown_app' } }
    expect(await ask('POST', '/links', { app_id, partner: 'acme' })).toMatchObject(expected)
    expect(await ask('GET', `/links?app_id=${app_id}`)).toMatchObject(expected)
  })

  test('a list of links of no app', async () => {
    expect(await ask('GET', '/links')).toMatchObject({ status: 400, body: { error: 'invalid_field', field: 'app_id' } })
  })

  test.each(['AAAAAAAAAAAA', 'nothing', '%00', "'%20OR%201=1"])('an unknown link: %s', async (id) => {
    const expected = { status: 404, body: { error: 'unknown_link' } }
    expect(await ask('POST', `/links/${id}/disable`)).toMatchObject(expected)
    expect(await ask('POST', `/links/${id}/enable`)).toMatchObject(expected)
  })
})
