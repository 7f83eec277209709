import { limits } from '@tributary/contracts/limits'
import { pino } from 'pino'
import { describe, expect, test } from 'vitest'
import { codeOf, newEmail, password, peopleWorld } from './people-world.ts'

let logged = ''
const write = (line: string) => {
  logged += line
}
const logger = pino({ level: 'trace' }, { write })
const { ask, query, clock, newCompany, openBrowser, newPerson, signedIn, withSecondFactor } = peopleWorld({
  ...{ logger, public_url: 'https://events.example.com/' },
})

describe('a sign-in', () => {
  test('opens a session that says who is signed in', async () => {
    const { company_id } = await newCompany()
    const browser = await signedIn('owner', company_id)
    const { status, body } = await browser.ask('GET', '/me')
    expect(status).toBe(200)
    expect(body).toMatchObject({
      ...{ email: browser.email, csrf_token: browser.csrf_token, second_factor: false, recovery_codes_left: 0 },
      public_url: 'https://events.example.com', // without the slash at its end
      memberships: [{ role: 'owner', company_id, company_name: 'Acme', apps: null }],
    })
  })

  test('takes the email in any case of its letters', async () => {
    const email = await newPerson('operator')
    expect(await openBrowser().signIn(email.toUpperCase())).toMatchObject({ status: 200 })
  })

  test('keeps the session in a cookie that scripts and other sites cannot use', async () => {
    const email = await newPerson('operator')
    const plain = await openBrowser().ask('POST', '/sign-in', { email, password })
    expect(plain.cookies[0]).toMatch(
      /^tributary_8080=ses_[\w-]{43}; Max-Age=2592000; Path=\/; HttpOnly; SameSite=Strict$/,
    )
    const headers = { host: 'panel.example.com', origin: 'https://panel.example.com' }
    const refused = await openBrowser().ask('POST', '/sign-in', { email, password }, { headers })
    expect(refused).toMatchObject({ status: 403, body: { error: 'insecure_address' } })
    expect(refused.body.message).toContain('TRIBUTARY_ADMIN_URL')
    expect(refused.cookies).toEqual([])
  })

  test('begins a new session and ends the one of the browser: a planted cookie opens nothing', async () => {
    const email = await newPerson('operator')
    const browser = openBrowser()
    await browser.signIn(email)
    const before = new Map(browser.cookies)
    await browser.signIn(email)
    expect(browser.cookies.get('tributary_8080')).not.toBe(before.get('tributary_8080'))
    browser.cookies.set('tributary_8080', before.get('tributary_8080')!)
    expect(await browser.ask('GET', '/me')).toMatchObject({ status: 401, body: { error: 'session_ended' } })
    const victim = openBrowser()
    victim.cookies.set('tributary_8080', 'ses_planted')
    await victim.signIn(email)
    expect(victim.cookies.get('tributary_8080')).not.toBe('ses_planted')
  })

  test('does not tell whether an account exists, by text or by work', async () => {
    const email = await newPerson('operator')
    const wrong = await openBrowser('192.0.2.1').ask('POST', '/sign-in', { email, password: 'wrong' })
    const unknown = await openBrowser('192.0.2.1').ask('POST', '/sign-in', { email: newEmail(), password: 'wrong' })
    const { request_id: _a, ...one } = wrong.body
    const { request_id: _b, ...other } = unknown.body
    expect(one).toEqual({ error: 'sign_in_failed', message: 'Wrong email or password.' })
    expect({ status: unknown.status, ...other }).toEqual({ status: wrong.status, ...one })
    expect(unknown.cookies).toEqual(wrong.cookies)
    const took: [known: number[], unknown: number[]] = [[], []]
    for (let n = 0; n < 18; n += 1) {
      const before = process.cpuUsage() // with that of the threads that hash; waiting for others costs none
      const given = { email: n % 2 === 0 ? email : newEmail(), password: 'wrong' }
      await openBrowser(`198.51.100.${n}`).ask('POST', '/sign-in', given)
      took[n % 2 === 0 ? 0 : 1].push(process.cpuUsage(before).user)
    }
    const [known_us, unknown_us] = took.map((times) => Math.min(...times)) as [number, number]
    expect(unknown_us).toBeGreaterThan(known_us / 2)
    expect(known_us).toBeGreaterThan(unknown_us / 2)
  })

  test('takes no text that a table cannot hold', async () => {
    const strange = { email: 'a\u0000b@example.com', password: 'x\u0000' }
    expect(await openBrowser().ask('POST', '/sign-in', strange)).toMatchObject({
      status: 400,
      body: { field: 'email' },
    })
    expect(await ask('GET', '/audit-log?actor=%00')).toMatchObject({ status: 400, body: { field: 'actor' } })
    const invited = { email: newEmail(), role: 'analyst', company_id: 'co_1', app_ids: ['\u0000'] }
    expect(await ask('POST', '/people/invite', invited)).toMatchObject({ status: 400, body: { field: 'app_ids.0' } })
    const browser = await signedIn('operator')
    expect(await browser.ask('POST', '/me/sessions/%00/revoke')).toMatchObject({ status: 404 })
  })

  test('leaves no password, token or code in the log and no secret in a table', async () => {
    const browser = await signedIn('operator')
    const { secret, recovery_codes } = await withSecondFactor(browser)
    let stored = ''
    for (const table of [
      'people',
      'sessions',
      'known_browsers',
      'one_time_links',
      'totp_secrets',
      'recovery_codes',
      'admin_audit_log',
    ])
      stored += JSON.stringify(await query(`SELECT t::text AS row FROM ${table} t`))
    for (const secrecy of [password, secret, ...recovery_codes, browser.csrf_token, ...browser.cookies.values()]) {
      expect(logged).not.toContain(secrecy)
      expect(stored).not.toContain(secrecy)
      expect(stored).not.toContain(Buffer.from(secrecy).toString('hex'))
    }
    expect(stored).toContain('$argon2id$v=19$m=19456,t=2,p=1$')
    expect(logged).toContain('person_id')
  })
})

describe('guesses', () => {
  const guess = (email: string, address: string) =>
    openBrowser(address).ask('POST', '/sign-in', { email, password: 'wrong' })

  test('slow the pair of account and address for growing times, and no other pair', async () => {
    const email = await newPerson('operator')
    const answers: (string | undefined)[] = []
    for (let n = 0; n < limits.sign_in_failures_free + 1; n += 1)
      answers.push((await guess(email, '203.0.113.1')).body.error)
    expect(answers).toEqual([...Array(limits.sign_in_failures_free).fill('sign_in_failed'), 'rate_limited'])
    expect(await guess(email, '203.0.113.2')).toMatchObject({ body: { error: 'sign_in_failed' } })
    expect(await guess(newEmail(), '203.0.113.1')).toMatchObject({ body: { error: 'sign_in_failed' } })
    clock.now_ms += limits.sign_in_wait_ms
    expect(await guess(email, '203.0.113.1')).toMatchObject({ body: { error: 'sign_in_failed' } })
    clock.now_ms += limits.sign_in_wait_ms
    expect(await guess(email, '203.0.113.1')).toMatchObject({ status: 429 })
  })

  test('are counted before they are answered: a hundred at once are no more than five', async () => {
    const email = await newPerson('operator')
    const answers = await Promise.all(Array.from({ length: 100 }, () => guess(email, '203.0.113.9')))
    expect(answers.filter(({ status }) => status === 401)).toHaveLength(limits.sign_in_failures_free)
  })

  test('of an account that does not exist are slowed alike', async () => {
    const email = newEmail()
    for (let n = 0; n < limits.sign_in_failures_free; n += 1) await guess(email, '203.0.113.3')
    expect(await guess(email, '203.0.113.3')).toMatchObject({ status: 429, body: { error: 'rate_limited' } })
  })

  test('of others never slow a browser that has signed in before, nor another address', async () => {
    const email = await newPerson('operator')
    const browser = openBrowser('203.0.113.4')
    await browser.signIn(email)
    for (let n = 0; n < 50; n += 1) await guess(email, '203.0.113.4')
    expect((await guess(email, '203.0.113.4')).status).toBe(429)
    expect(await browser.signIn(email)).toMatchObject({ status: 200 })
    expect(await openBrowser('203.0.113.5').signIn(email)).toMatchObject({ status: 200 })
  })

  test('with the password of an account do not go on by its first step', async () => {
    const browser = await signedIn('operator')
    await withSecondFactor(browser)
    const guesser = openBrowser('203.0.113.6')
    const answers: string[] = []
    for (let n = 0; n < 4; n += 1) {
      answers.push((await guesser.signIn(browser.email)).body.error ?? 'ok')
      answers.push((await guesser.ask('POST', '/sign-in/second-factor', { code: '000000' })).body.error)
    }
    expect(answers.slice(0, 5)).toEqual(['ok', 'wrong_code', 'ok', 'wrong_code', 'ok'])
    expect(answers.slice(5)).toEqual(['rate_limited', 'rate_limited', 'rate_limited'])
  })

  test('of codes with the password slow the account from many addresses, and no browser that it knows', async () => {
    const browser = await signedIn('operator')
    const { secret } = await withSecondFactor(browser)
    clock.now_ms += 60_000
    const answers: string[] = []
    for (let n = 0; n < limits.sign_in_failures_free + 3; n += 1) {
      const guesser = openBrowser(`2001:db8:0:${n}::1`)
      await guesser.signIn(browser.email)
      answers.push((await guesser.ask('POST', '/sign-in/second-factor', { code: '000000' })).body.error)
    }
    const refused = Array<string>(3).fill('rate_limited')
    expect(answers).toEqual([...Array<string>(limits.sign_in_failures_free).fill('wrong_code'), ...refused])
    await browser.signIn(browser.email)
    const code = codeOf(secret, clock.now_ms)
    expect(await browser.ask('POST', '/sign-in/second-factor', { code })).toMatchObject({ body: { next: 'done' } })
  })
})

describe('a second factor', () => {
  test('is asked for after the password, and opens nothing before', async () => {
    const { email, ...first } = await signedIn('operator')
    const { secret } = await withSecondFactor(first)
    clock.now_ms += 60_000
    const browser = openBrowser()
    expect(await browser.signIn(email)).toMatchObject({ status: 200, body: { next: 'second_factor' } })
    const half = browser.cookies.get('tributary_8080')
    for (const path of ['/me', '/companies'])
      expect(await browser.ask('GET', path)).toMatchObject({ status: 401, body: { error: 'session_ended' } })
    expect(await browser.ask('POST', '/sign-in/second-factor', { code: '12345x' })).toMatchObject({
      body: { error: 'wrong_code' },
    })
    const code = codeOf(secret, clock.now_ms)
    expect(await browser.ask('POST', '/sign-in/second-factor', { code })).toMatchObject({
      status: 200,
      body: { next: 'done' },
    })
    expect(browser.cookies.get('tributary_8080')).not.toBe(half)
    expect(await browser.ask('GET', '/me')).toMatchObject({
      status: 200,
      body: { second_factor: true, recovery_codes_left: 10 },
    })
  })

  test('takes a code once, and none from before it', async () => {
    const { email, ...first } = await signedIn('operator')
    const { secret } = await withSecondFactor(first)
    const confirmed = codeOf(secret, clock.now_ms)
    clock.now_ms += 60_000
    const code = codeOf(secret, clock.now_ms)
    const step = async (given: string) => {
      const browser = openBrowser(`203.0.113.${Math.floor(Math.random() * 200)}`)
      await browser.signIn(email)
      return (await browser.ask('POST', '/sign-in/second-factor', { code: given })).status
    }
    expect([
      await step(confirmed),
      await step(code),
      await step(code),
      await step(codeOf(secret, clock.now_ms - 30_000)),
    ]).toEqual([401, 200, 401, 401])
  })

  test('takes each recovery code once', async () => {
    const { email, ...first } = await signedIn('operator')
    const { recovery_codes } = await withSecondFactor(first)
    const [code = ''] = recovery_codes
    expect(code).toMatch(/^[A-Z2-7]{8}-[A-Z2-7]{8}-[A-Z2-7]{8}$/) // 120 bits: a fast hash is enough
    const step = async (given: string) => {
      const browser = openBrowser()
      await browser.signIn(email)
      return (await browser.ask('POST', '/sign-in/second-factor', { code: given })).status
    }
    expect([await step(code.toLowerCase().replace('-', ' ')), await step(code)]).toEqual([200, 401])
  })

  test('ends its half session after some wrong codes and after minutes', async () => {
    const { email, ...first } = await signedIn('operator')
    const { secret } = await withSecondFactor(first)
    const browser = openBrowser()
    await browser.signIn(email)
    clock.now_ms += limits.session_pending_ms_max
    const code = codeOf(secret, clock.now_ms)
    expect(await browser.ask('POST', '/sign-in/second-factor', { code })).toMatchObject({
      status: 401,
      body: { error: 'session_ended' },
    })
    expect(await openBrowser().ask('POST', '/sign-in/second-factor', { code })).toMatchObject({
      body: { error: 'session_ended' },
    })
  })

  test('guards open sessions too: those that lack it never end one', async () => {
    const browser = await signedIn('operator')
    await withSecondFactor(browser)
    clock.now_ms += 1000
    for (let n = 0; n <= limits.person_sessions_max; n += 1) await openBrowser(`198.51.100.${n}`).signIn(browser.email)
    expect(await browser.ask('GET', '/me')).toMatchObject({ status: 200 })
  })

  test('is removed with the password of a moment ago', async () => {
    const browser = await signedIn('operator')
    await withSecondFactor(browser)
    clock.now_ms += limits.session_fresh_ms
    expect(await browser.ask('POST', '/me/totp/disable')).toMatchObject({
      status: 403,
      body: { error: 'password_needed' },
    })
    await browser.ask('POST', '/me/confirm', { password })
    expect(await browser.ask('POST', '/me/totp/disable')).toMatchObject({ status: 200 })
    expect(await openBrowser().signIn(browser.email)).toMatchObject({ body: { next: 'done' } })
  })
})
