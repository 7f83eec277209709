import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { startApp, tapLink } from '@tributary/testing/attribution/phone'
import { describeWith } from '@tributary/testing/engines/describe-with-engine'
import { expect, it, onTestFinished } from 'vitest'
import { openPanel, password, totp } from './open-panel.ts'

/** A schema with one value that means something. */
const schema = {
  postbacks: [
    {
      ...{ postback_sequence_index: 0, window_hours: 48, lock_window: false, coarse: [] },
      fine: [{ value: 7, name: 'bought', revenue_min_usd: 0.99, event_name: 'purchase' }],
    },
  ],
}

await describeWith('Chromium', openPanel, ({ windowOf, admin, sendEvents, demo, url }) => {
  it('says what a shorter retention deletes before it is saved, suspends a company and reinstates it', async () => {
    const { page, open, faults } = await windowOf(['owner', 'operator'], /status of 401/, 'grace@example.com')
    const kept = async () => await admin<Record<string, unknown>>('GET', `/companies/${demo.COMPANY_ID}`)
    await open(`companies?open=${demo.COMPANY_ID}`, '.card form')
    await page.getByLabel('Addresses and user agents (days)').fill('20')
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByText('Saved. It acts from the next night on.').waitFor()
    expect(await kept()).toMatchObject({ keep_ip_days: 20, keep_raw_days: null })

    await page.getByLabel('Raw events (days)').last().fill('30')
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByText('The next night deletes 0 of 0 raw events.').waitFor()
    expect(await kept()).toMatchObject({ keep_raw_days: null })
    await page.getByRole('button', { name: 'Save, and let the night delete them' }).click()
    await page.getByText('Saved. It acts from the next night on.').waitFor()
    expect(await kept()).toMatchObject({ keep_ip_days: 20, keep_raw_days: 30 })

    await page.getByRole('button', { name: /^Suspend/ }).click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Suspend' }).click()
    await page.getByRole('button', { name: 'Reinstate' }).waitFor()
    expect(await kept()).toMatchObject({ status: 'suspended' })
    await page.getByRole('button', { name: 'Reinstate' }).click()
    await page.getByRole('button', { name: /^Suspend/ }).waitFor()
    expect(await kept()).toMatchObject({ status: 'active' })

    await page.getByRole('button', { name: 'New company' }).click()
    await page.getByLabel('Name').fill('Second')
    await page.getByRole('button', { name: 'Make the company' }).click()
    await page.getByText('Second is made.').waitFor()
    await page.getByRole('grid', { name: 'Companies' }).getByText('Second').waitFor()
    expect(faults).toEqual([])
  })

  it('compares a schema of conversion values, publishes it, and shows the version that is live', async () => {
    const { page, open, faults } = await windowOf(['marketer'])
    await open(`cv-schema?app=${demo.IOS_APP_ID}`, 'form')
    await page.getByLabel('Schema as JSON').fill('{')
    await page.getByRole('button', { name: 'Compare with the live one' }).click()
    await page.getByText('This is not JSON').waitFor()
    await page.getByLabel('Schema as JSON').fill(JSON.stringify(schema))
    await page.getByRole('button', { name: 'Compare with the live one' }).click()
    await page.getByRole('grid', { name: 'What would change' }).waitFor()
    expect(await admin('GET', `/cv-schemas?app_id=${demo.IOS_APP_ID}`)).toMatchObject({ version: null })
    await page.getByRole('button', { name: /^Publish/ }).click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Publish' }).click()
    await page.getByText('Version 1 is live.').waitFor()
    await page.getByRole('heading', { name: 'First postback' }).waitFor()
    expect(await admin('GET', `/cv-schemas?app_id=${demo.IOS_APP_ID}`)).toMatchObject({ version: 1 })
    expect(faults).toEqual([])
  })

  it('uploads a file of costs with its columns mapped, says what is rejected, and shows what is there', async () => {
    const { page, open, faults } = await windowOf(['marketer'], undefined, 'uploads@example.com')
    const today = new Date().toISOString().slice(0, 10)
    const file = (name: string, lines: string[]) => ({
      ...{ name, mimeType: 'text/csv', buffer: Buffer.from(lines.join('\n')) },
    })
    await open(`costs?app=${demo.APP_ID}`, '.snippet')
    const choose = page.locator('input[type=file]')
    await choose.setInputFiles(file('empty.csv', ['Date;Spend']))
    await page.getByText('This file has no line below its heads.').waitFor()

    const lines = [`${today};"Spring; Sale";12.50;410`, `${today};autumn;7;20`, ';;;', 'yesterday;autumn;1;2']
    await choose.setInputFiles(file('spend.csv', ['Date;Campaign name;Amount spent;Taps', ...lines]))
    await page.getByText('Still needed: Partner, Currency.').waitFor()
    await page.getByLabel('Partner of all lines').fill('Uploaded_Ads')
    await page.getByLabel('Currency of all lines').fill('usd')
    await page.getByRole('button', { name: /Clicks$/ }).click()
    await page.getByRole('option', { name: 'Taps' }).click()
    await page.getByRole('cell', { name: 'Spring; Sale' }).waitFor()
    await page.getByRole('cell', { name: '410', exact: true }).waitFor()
    await page.getByRole('button', { name: 'Upload 3 lines' }).click()
    await page.getByText('Uploaded. Accepted: 2. Rejected: 1.').waitFor()
    await page.getByText(/^Row 5: /).waitFor()
    const stored = page.getByRole('grid', { name: 'What is there' })
    await stored.getByText('$19.50').first().waitFor()
    expect(await stored.getByText('uploaded_ads').count()).toBe(1)
    expect(faults).toEqual([])
  })

  it('makes a link with its QR code, and keeps a view of the page under a name', async () => {
    const { page, open, faults } = await windowOf(['admin'])
    await open(`links?app=${demo.APP_ID}&open=new`, 'form')
    await page.getByLabel('Partner').fill('acme')
    await page.getByLabel('Campaign').fill('spring')
    await page.getByRole('button', { name: 'Make the link' }).click()
    await page.getByText('The link is live.').waitFor()
    await page.getByRole('grid', { name: 'Links' }).getByRole('link', { name: 'acme' }).first().click()
    await page.getByRole('img', { name: 'The URL as a QR code' }).waitFor()
    const [saved] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Save as SVG' }).click(),
    ])
    expect(saved.suggestedFilename()).toMatch(/^\w+\.svg$/)

    const address = page.url()
    await page.getByRole('button', { name: 'Save this view' }).click()
    await page.getByLabel('Name').fill('Spring of acme')
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.locator('.rail-link').filter({ hasText: 'Health' }).click()
    await page.getByRole('heading', { level: 1, name: 'Health' }).waitFor()
    // Another window of the browser has it too.
    const other = await page.context().newPage()
    await other.goto(`${url}/admin/health`)
    await other.getByRole('link', { name: 'Spring of acme' }).click()
    await other.getByRole('img', { name: 'The URL as a QR code' }).waitFor()
    expect(other.url()).toBe(address)
    await page.getByRole('button', { name: 'Remove the view Spring of acme' }).click()
    await other.getByRole('link', { name: 'Spring of acme' }).waitFor({ state: 'detached' })
    expect(faults).toEqual([])
  })

  it('shares a view and a note on a day with everybody who may see the app', async () => {
    const writer = await windowOf(['analyst'], undefined, 'writer@example.com')
    const reader = await windowOf(['analyst'], undefined, 'reader@example.com')
    const cost = { day: new Date().toISOString().slice(0, 10), partner: 'acme', cost: 5, currency: 'USD' }
    await admin('PUT', `/apps/${demo.APP_ID}/costs`, { costs: [cost] })
    await writer.open(`costs?app=${demo.APP_ID}&range=7d`, '.chart svg')
    const { page } = writer
    await page.getByRole('button', { name: 'Save this view' }).click()
    await page.getByLabel('Name').fill('Week of costs')
    await page.getByLabel('Show it to everybody who may see this app').check()
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByRole('link', { name: 'Week of costs' }).waitFor()

    await page
      .getByRole('button', { name: /^Notes in/ })
      .first()
      .click()
    await page.getByLabel('Note', { exact: true }).fill('Release <b>2.1</b>')
    await page.getByRole('button', { name: 'Add the note' }).click()
    await page.getByRole('button', { name: 'Remove the note Release <b>2.1</b>' }).waitFor()
    await page.keyboard.press('Escape')

    await reader.open(`overview?app=${demo.APP_ID}`, '.tile')
    await reader.page.getByRole('link', { name: 'Week of costs' }).click()
    await reader.page
      .getByText(/: Release <b>2\.1<\/b>$/)
      .first()
      .waitFor()
    await reader.page.getByRole('button', { name: 'Remove the view Week of costs' }).click()
    await reader.page.getByRole('link', { name: 'Week of costs' }).waitFor({ state: 'detached' })
    expect(await admin('GET', `/apps/${demo.APP_ID}/views`)).toEqual({ views: [] })
    expect([...writer.faults, ...reader.faults]).toEqual([])
  })

  it('sets a partner while its postback is shown, sends it a test, and shows the log', async () => {
    const heard: string[] = []
    const server = createServer((request, answer) => {
      heard.push(`${request.method} ${request.url} ${request.headers['x-tributary-test']}`)
      answer.writeHead(heard.length === 1 ? 500 : 200).end('got it')
    }).listen(0, '127.0.0.1')
    onTestFinished(() => void server.close())
    await once(server, 'listening')
    const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

    const { page, open, faults } = await windowOf(['marketer'], /status of 40[01]/, 'media@example.com')
    await open(`partners?app=${demo.APP_ID}`, '[role=grid]')
    await page.getByRole('button', { name: 'New partner' }).click()
    await page.getByLabel('Partner', { exact: true }).fill('acme')
    await page.getByLabel('Postback URL').fill(`${address}/heard?{nope}`)
    await page.getByRole('alert').getByText('postback_url').waitFor()
    await page.getByLabel('Postback URL').fill(`${address}/heard?click={click_id}&event={event_name}`)
    await page.getByText(/heard\?click=[\w-]+&event=install/).waitFor()
    await page.getByLabel('Events').fill('install, level up')
    await page.getByLabel('HMAC secret').fill('shh')
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByRole('heading', { level: 2, name: 'acme' }).waitFor()
    const { partners } = await admin<{ partners: object[] }>('GET', `/partners?app_id=${demo.APP_ID}`)
    expect(partners).toMatchObject([{ partner: 'acme', events: ['install', 'level up'], signed: true, method: 'GET' }])

    const grid = page.getByRole('grid', { name: 'Deliveries' })
    for (const status of ['500', '200']) {
      await page.getByRole('button', { name: 'Send a test' }).click()
      await page
        .getByRole('status')
        .filter({ hasText: `, ${status}` })
        .waitFor()
      await grid.getByRole('row').filter({ hasText: status }).first().waitFor()
    }
    expect(heard).toEqual([1, 2].map(() => expect.stringMatching(/^GET \/heard\?click=[^&]+&event=install 1$/)))

    await page.getByRole('button', { name: 'Remove acme' }).click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Remove' }).click()
    await page.getByText('No partner is notified yet.').waitFor()
    expect(faults).toEqual([])
  })

  it('decides installs again with other settings, and changes none', async () => {
    const keys = { company_key: demo.COMPANY_KEY!, app_key: demo.APP_KEY!, signing_secret: demo.SIGNING_SECRET! }
    const [install_uuid, ip] = ['by-address', '203.0.113.9']
    expect((await tapLink(`${url}/l/${demo.LINK_ID}`, ip)).status).toBe(302)
    expect(await startApp(url, keys, { install_uuid, ip })).toBe(200)
    await sendEvents([{ event_id: 'o', event_name: 'app_install', install_uuid: 'organic', event_ts_ms: Date.now() }])

    const { page, open, faults } = await windowOf(['analyst'], /status of 40[01]/, 'asks@example.com')
    await open(`what-if?app=${demo.APP_ID}`, 'form')
    const moves = page.getByRole('grid', { name: 'What would move' })
    const decide = page.getByRole('button', { name: 'Decide again' })
    await decide.click()
    await moves.getByText('Every verdict would stay as it is.').waitFor()
    await page.getByLabel('Match nothing by address').check()
    await decide.click()
    const move = moves.getByRole('row').filter({ hasText: install_uuid })
    await move.getByText('organic', { exact: true }).waitFor()
    const partners = page.getByRole('grid', { name: 'Installs by partner' })
    const organic = partners.getByRole('row').filter({ hasText: 'organic' })
    const shown = await organic.locator('data').evaluateAll((cells) => cells.map((cell) => cell.getAttribute('value')))
    expect(shown.slice(0, 3)).toEqual(['1', '2', '1'])

    await page.getByLabel('Reinstall (days)').fill('9999')
    await decide.click()
    await page.getByRole('alert').getByText('reinstall_days').waitFor()
    expect(await moves.count()).toBe(0)
    expect(faults).toEqual([])
  })

  it('resets a password and removes a person, for good', async () => {
    const gone = await windowOf(['analyst'], /status of 401/, 'gone@example.com')
    await gone.open('overview', '.rail nav')
    const { page, open, faults } = await windowOf(['owner', 'operator'], /status of 401/, 'owner@example.com')
    await open('people', '[role=grid]')
    await page.getByRole('link', { name: gone.email }).click()
    await page.getByRole('button', { name: 'Make a reset link' }).click()
    const link = await page.getByRole('region', { name: /^Reset link/ }).textContent()
    const lost = await windowOf([], /status of 401/)
    await lost.page.goto(link ?? '')
    await lost.page.getByLabel('New password').fill(`${password} anew`)
    await lost.page.getByRole('button').last().click()
    await lost.page.waitForURL('**/admin/overview**')

    await page.getByRole('button', { name: /^Remove/ }).click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Remove' }).click()
    await page.getByRole('link', { name: gone.email }).waitFor({ state: 'detached' })
    await lost.page.reload()
    await lost.page.waitForURL('**/admin/sign-in**')
    expect(faults).toEqual([])
  })

  it('sets a second factor up to its last step, and asks for it at the next sign-in', async () => {
    const { page, open, faults, email } = await windowOf(['privacy'])
    await open('account', '[role=grid]')
    await page.getByRole('button', { name: 'Set it up' }).click()
    await page.getByRole('img', { name: /QR code/ }).waitFor()
    const secret = (await page.getByRole('region', { name: /^Give this secret/ }).textContent()) ?? ''
    await page.getByLabel('Code that it shows').fill(totp(secret, Date.now()))
    await page.getByRole('button', { name: 'Switch it on' }).click()
    const codes = (await page.getByRole('region', { name: /^Recovery codes/ }).textContent()) ?? ''
    await page.getByRole('status').filter({ hasText: 'on' }).first().waitFor()

    await page.getByRole('button', { name: `Account of ${email}` }).click()
    await page.getByRole('menuitem', { name: 'Sign out' }).click()
    await page.waitForURL('**/admin/sign-in**')
    await page.getByLabel('Email').fill(email)
    await page.getByLabel('Password').fill(password)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.waitForURL('**/admin/second-factor**')
    await page.getByLabel('Code').fill(codes.split('\n')[0] ?? '')
    await page.getByRole('button').last().click()
    // Where the person was last.
    await page.waitForURL('**/admin/account**')
    expect(faults).toEqual([])
  })

  it('retries dead letters, and says how many go through the service again', async () => {
    const { page, open, faults } = await windowOf(['operator'])
    // A service that is well has none: this answers in its place.
    let waiting = 3
    const first_ms = Date.now()
    await page.route('**/admin/api/v1/dead-letters**', async (route) => {
      if (route.request().method() === 'GET') {
        const dead = { topic: 'events.accepted.v1', reason: 'bad_row', count: waiting, first_ms, last_ms: first_ms }
        return route.fulfill({ json: { dead: waiting > 0 ? [dead] : [] } })
      }
      await route.fulfill({ json: { retried: waiting } })
      waiting = 0
    })
    await open('health', '[role=grid]')
    await page.getByRole('button', { name: 'Retry all' }).click()
    await page.getByText('3 records go through the service again.').waitFor()
    await page.getByText('None wait.').waitFor()
    expect(faults).toEqual([])
  })
})
