import { generateKeyPairSync } from 'node:crypto'
import type { App } from '@tributary/contracts/admin/apps'
import type { InstallRecord } from '@tributary/contracts/install-record'
import { day_ms } from '@tributary/contracts/limits'
import type { ReportRow } from '@tributary/contracts/reports'
import { describeWith } from '@tributary/testing/engines/describe-with-engine'
import { expect, it } from 'vitest'
import { findBarriers } from '../browser.ts'
import { hostile, openPanel } from '../open-panel.ts'

const pem = { format: 'pem', type: 'pkcs8' } as const
const appleKey = () => generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export(pem).toString()
const serviceAccount = () => ({
  ...{ type: 'service_account', client_email: 'a@b.iam.gserviceaccount.com', private_key_id: 'k' },
  private_key: generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export(pem).toString(),
})

const yesterday = new Date(Date.now() - day_ms).toISOString().slice(0, 10)
const row = (store: 'apple' | null, verdict: 'valid' | 'invalid', reason: 'reused' | 'malformed' | null) => ({
  ...{ day: yesterday, store, verdict, reason },
})
const rows: ReportRow<'receipts'>[] = [
  { ...row(null, 'invalid', 'malformed'), events: 1, revenue_told_usd: 5, revenue_counted_usd: 0 },
  { ...row('apple', 'valid', null), events: 6, revenue_told_usd: 30, revenue_counted_usd: 27 },
  { ...row('apple', 'valid', 'reused'), events: 1, revenue_told_usd: 5, revenue_counted_usd: 0 },
]
const receipts: InstallRecord['receipts'] = [
  {
    ...{ store: 'google', product_id: 'pro', transaction_id: hostile, verdict: 'unverified', reason: 'no_credentials' },
    ...{ price_source: 'event', judged_at_ms: Date.now() },
  },
]

await describeWith('Chromium', openPanel, ({ windowOf, admin, demo, sendEvents }) => {
  const app = () => admin<App>('GET', `/apps/${demo.APP_ID}`)

  it('switches valid receipts only on and off, and says on the page of receipts which holds', async () => {
    const { page, open, faults } = await windowOf(['owner'], /status of 401/, 'switch@example.com')
    for (const isOn of [true, false]) {
      await open(`apps?open=${demo.APP_ID}`, '.plain-table')
      await page.getByRole('checkbox', { name: /Valid receipts only/ }).setChecked(isOn)
      await page.getByRole('button', { name: 'Save', exact: true }).click()
      await page.getByText('Saved.').waitFor()
      expect(await app()).toMatchObject({ valid_receipts_only: isOn })
      await open(`receipts?app=${demo.APP_ID}`, '.empty')
      await page.getByText(isOn ? 'Valid receipts only is on' : 'counts as the events state it').waitFor()
    }
    expect(faults).toEqual([])
  })

  it('shows where Google sends notifications, and sets the service account that proves them', async () => {
    const { company_id } = await app()
    const { app_id, app_key } = await admin<App>('POST', '/apps', { company_id, name: 'Droid', platform: 'android' })
    const { page, open, faults } = await windowOf(['owner'], /status of 4\d\d/, 'push@example.com')
    const look = () => open(`apps?open=${app_id}`, '.snippet')
    await look()
    await page.getByText(`/store/google/${app_key}`).waitFor()
    const save = page.getByRole('button', { name: 'Save the service account' })
    await page.getByLabel('Service account that pushes').fill('nobody')
    await save.click()
    await page.getByText('It must be an address of mail').waitFor()
    await page.getByLabel('Service account that pushes').fill('play-push@p.iam.gserviceaccount.com')
    await page.getByLabel('Audience', { exact: true }).fill('https://my.audience/')
    await save.click()
    await page.getByText('Saved.').waitFor()
    const push = {
      google_push_email: 'play-push@p.iam.gserviceaccount.com',
      google_push_audience: 'https://my.audience/',
    }
    expect(await admin<App>('GET', `/apps/${app_id}`)).toMatchObject(push)
    await look()
    await page.getByLabel('Audience', { exact: true }).fill('')
    await save.click()
    await page.getByText('Saved.').waitFor()
    expect(await admin<App>('GET', `/apps/${app_id}`)).toMatchObject({ ...push, google_push_audience: null })
    expect(await findBarriers(page)).toEqual([])
    expect(faults).toEqual([])
  })

  it('leads from what needs attention to the receipts of the app', async () => {
    const { page, open, faults } = await windowOf(['owner'], /status of 401/, 'waits@example.com')
    const { company_id, app_id } = await app()
    await page.route('**/api/v1/attention', (route) =>
      route.fulfill({
        json: {
          items: [
            {
              ...{ code: 'receipts_wait', company_id, app_id, since_ms: Date.now() - day_ms, fix: 'Ask the store.' },
              ...{ message: 'Receipts of Run wait.', docs: '/docs/receipts#check-the-credentials' },
            },
          ],
          unchecked: [],
        },
      }),
    )
    await open(`overview?app=${demo.APP_ID}`, '.attention li')
    await page.getByRole('link', { name: 'Receipts of the app' }).click()
    await page.waitForURL((url) => url.pathname.endsWith('/receipts') && url.searchParams.get('app') === demo.APP_ID)
    expect(faults).toEqual([])
  })

  it('sets credentials at the stores from their files, says what is missing, and never shows them again', async () => {
    const { page, open, faults } = await windowOf(['owner'], /status of 401/, 'stores@example.com')
    await open(`apps?open=${demo.APP_ID}`, '.plain-table')
    await page.getByRole('button', { name: 'Ask the stores' }).click()
    await page.getByText('App Store: none are set. Google Play: none are set.').waitFor()
    const save = page.getByRole('button', { name: 'Save the credentials' })
    await save.click()
    await page.getByText('Choose a file to save.').waitFor()
    await page.getByLabel('Key id of Apple').fill('2X9R4HXF34')
    await save.click()
    await page.getByText('belong together').waitFor()

    const choose = async (label: string, name: string, content: string) => {
      const chooser = page.waitForEvent('filechooser')
      await page.getByRole('button', { name: `Choose the file: ${label}` }).click()
      await (await chooser).setFiles({ name, mimeType: 'text/plain', buffer: Buffer.from(content) })
      await page.getByText(name).waitFor()
    }
    await page.getByLabel('Issuer id of Apple').fill('57246542-96fe-1a63-e053-0824d011072a')
    await choose('Key of Apple (.p8)', 'key.p8', appleKey())
    await choose('Service account of Google (.json)', 'broken.json', '{')
    await save.click()
    await page.getByText('This file is not the JSON of a service account.').waitFor()
    await choose('Service account of Google (.json)', 'account.json', JSON.stringify(serviceAccount()))
    await save.click()
    await page.getByText('Set. A new one replaces it.').nth(1).waitFor()
    expect(await app()).toMatchObject({ has_apple_key: true, has_google_account: true })
    expect(await page.getByLabel('Key id of Apple').inputValue()).toBe('')
    expect(faults).toEqual([])
  })

  it('shows shares, verdicts in words and receipts of an install without a barrier, with hostile ids', async () => {
    const { page, open, faults } = await windowOf(['analyst'], /status of 401/, 'reads@example.com')
    await sendEvents([{ event_id: '1', event_name: 'app_install', event_ts_ms: Date.now(), install_uuid: 'i-1' }])
    await page.route('**/reports/receipts**', async (route) => {
      const meta = { since_ms: Date.now() - 7 * day_ms, until_ms: Date.now(), limit: 1000, offset: 0, rows: 3 }
      await route.fulfill({ json: { rows, meta: { ...meta, more: false, elapsed_ms: 1 } } })
    })
    await page.route('**/installs/i-1', async (route) => {
      const answer = await route.fetch()
      await route.fulfill({ json: { ...(await answer.json()), receipts } })
    })
    await open(`receipts?app=${demo.APP_ID}`, '.chart svg')
    const tiles = await page.locator('.tile').allInnerTexts()
    expect(tiles.map((text) => text.split('\n').filter((line) => line !== ''))).toEqual([
      ...[
        ['Receipts', '8'],
        ['Valid', '87.5%'],
        ['Invalid', '12.5%'],
        ['Unverified', '0.0%'],
        ['Sandbox', '0.0%'],
      ],
      ['Money that counts', '$27.00'],
    ])
    await page.getByText('A genuine purchase that counts for another install.').waitFor()
    await page.getByText('Look at what your app sends as its receipt.').waitFor()
    expect(await findBarriers(page)).toEqual([])
    await open(`install/i-1?app=${demo.APP_ID}`, '[role=grid]')
    await page.getByText('as the event states').waitFor()
    await page.getByText('Set them on the page Apps and keys').waitFor()
    expect(await page.locator('img').count()).toBe(0)
    expect(await findBarriers(page)).toEqual([])
    expect(faults).toEqual([])
  })
})
