import type { SignedIn } from '@tributary/contracts/admin/people/sign-in'
import { CodedError } from '@tributary/contracts/errors'
import { limits } from '@tributary/contracts/limits'
import { addressBlock } from '@tributary/contracts/networks'
import { inTransaction } from '@tributary/postgres/transaction'
import type { Pool, PoolClient } from 'pg'
import { recordAdminAction } from '../companies/admin-audit.ts'
import type { MasterKeys } from '../secrets/master-keys.ts'
import type { Guesses } from './guesses.ts'
import { emailKey } from './memberships.ts'
import type { Passwords } from './passwords/password-hash.ts'
import { tokenHash } from './random-token.ts'
import { useCode } from './second-factor/second-factor.ts'
import { isKnownSql, rememberBrowser } from './sessions/known-browsers.ts'
import {
  beginSession,
  countAttempt,
  endSession,
  type OpenSession,
  type Proof,
  type Visitor,
} from './sessions/sessions.ts'

export interface SignInDeps {
  pool: Pool
  masterKeys: MasterKeys
  passwords: Passwords
  guesses: Guesses
  now: () => number
}

/** What goes into cookies: a new session, and after a completed sign-in the browser. */
export interface NewSession {
  next: SignedIn['next']
  session: string
  browser: string | null
}

export interface Account {
  person_id: string
  email: string
  /** Null for a person who signs in by the identity provider alone. */
  password: string | null
  second_factor: boolean
  /** Whether somebody has signed in to it in this browser. */
  known: boolean
}

/**
 * Signs in with a password. A wrong one and an unknown account are one answer, after the same work: one query, one hash. Throws
 * `sign_in_failed`, and `rate_limited` while the pair of account and address must wait; a known browser is a pair of its own.
 */
export async function signIn(
  deps: SignInDeps,
  { email, password }: { email: string; password: string },
  visitor: Visitor,
): Promise<NewSession> {
  const account = await findAccount(deps, emailKey(email), visitor)
  const pair = pairOf(emailKey(email), account, visitor)
  deps.guesses.spend(pair)
  const isRight = await deps.passwords.check(password, account?.password ?? null, addressBlock(visitor.ip))
  if (account === null || !isRight) throw signInFailed()
  const proof = { proven_by: 'password', proven_at_ms: deps.now() } as const
  const made = await inTransaction(deps.pool, (client) => beginProven(client, account, proof, visitor, deps.now()))
  if (made === null) throw signInFailed()
  if (made.next === 'done') deps.guesses.forgive(pair) // before the code was right the pair stays as it is
  return made
}

const signInFailed = () => new CodedError('sign_in_failed', { message: 'Wrong email or password.' })

/**
 * Completes a sign-in with a code. Throws `wrong_code`, `session_ended` after too many, and `rate_limited`. Whoever comes here
 * knows the password, so wrong codes also slow the account, from whatever addresses they come; a known browser stays apart.
 */
export async function proveSecondFactor(
  deps: SignInDeps,
  { person_id, session_id, email, proven_by, proven_at_ms }: OpenSession,
  code: string,
  visitor: Visitor,
): Promise<NewSession> {
  const { pool, masterKeys, guesses, now } = deps
  const account = await findAccount(deps, emailKey(email), visitor)
  const pair = pairOf(emailKey(email), account, visitor)
  guesses.spend(pair)
  if (account?.known === false) guesses.spend(codesOf(person_id))
  const attempts = await countAttempt(pool, session_id)
  if (account === null || attempts === null || attempts > limits.session_attempts_max) {
    await endSession(pool, person_id, session_id)
    throw new CodedError('session_ended', { message: 'Give the password again.' })
  }
  const isRight = await inTransaction(pool, (client) => useCode(client, masterKeys, { person_id, code, now_ms: now() }))
  if (!isRight) throw new CodedError('wrong_code')
  // The token of a half session never opens a whole one, and a new password ended it.
  const isOpen = await endSession(pool, person_id, session_id)
  const proof = { proven_by, proven_at_ms: proven_by === 'password' ? now() : proven_at_ms }
  const complete = (client: PoolClient) => beginWhole(client, account, proof, visitor, now())
  const made = isOpen ? await inTransaction(pool, complete) : null
  if (made === null) throw new CodedError('session_ended', { message: 'Give the password again.' })
  guesses.forgive(pair)
  if (!account.known) guesses.forgive(codesOf(person_id))
  return made
}

/** The wrong codes of an account, in browsers that it does not know. */
const codesOf = (person_id: string): string => `codes ${person_id}`

/**
 * Takes the password of an open session again, by guesses of its own, and returns the stored hash that it fits. Throws
 * `sign_in_failed` and `rate_limited`.
 */
export async function checkOwnPassword(
  { pool, passwords, guesses }: Pick<SignInDeps, 'pool' | 'passwords' | 'guesses'>,
  { person_id, session_id }: OpenSession,
  password: string,
  visitor: Visitor,
): Promise<string> {
  const pair = `session ${session_id}`
  guesses.spend(pair)
  const { rows } = await pool.query<{ password: string | null }>('SELECT password FROM people WHERE person_id = $1', [
    person_id,
  ])
  const stored = rows[0]?.password ?? null
  if (!(await passwords.check(password, stored, addressBlock(visitor.ip))) || stored === null) throw wrongPassword()
  guesses.forgive(pair)
  return stored
}

export const wrongPassword = () => new CodedError('sign_in_failed', { message: 'Wrong password.' })

/**
 * Begins the session of a person who is proven: half a one where a second factor is missing. Null where the account has another
 * password by now.
 */
export async function beginProven(
  client: PoolClient,
  account: Account,
  proof: Proof,
  visitor: Visitor,
  now_ms: number,
): Promise<NewSession | null> {
  if (!account.second_factor) return beginWhole(client, account, proof, visitor, now_ms)
  const session = await beginSession(client, { ...account, ...proof, complete: false }, visitor, now_ms)
  return session === null ? null : { next: 'second_factor', session, browser: null }
}

async function beginWhole(
  client: PoolClient,
  { person_id, email, password }: Account,
  proof: Proof,
  visitor: Visitor,
  now_ms: number,
): Promise<NewSession | null> {
  const { ip, request_id } = visitor
  const session = await beginSession(client, { person_id, password, ...proof, complete: true }, visitor, now_ms)
  if (session === null) return null
  const browser = await rememberBrowser(client, person_id, visitor.browser, now_ms)
  const request = { actor: email, person_id, ip, request_id, now_ms }
  const detail = proof.proven_by === 'password' ? {} : { by: proof.proven_by }
  await recordAdminAction(client, request, { action: 'person.sign_in', subject: person_id, detail })
  return { next: 'done', session, browser }
}

async function findAccount(
  { pool, now }: Pick<SignInDeps, 'pool' | 'now'>,
  email_key: string,
  { browser }: Visitor,
): Promise<Account | null> {
  const { rows } = await pool.query<Account>(`${account_sql} WHERE p.email_key = $1`, [
    ...[email_key, tokenHash(browser ?? ''), now()],
  ])
  return rows[0] ?? null
}

/** The account of a person, for the sign-in in this browser. */
export async function accountById(
  client: PoolClient,
  person_id: string,
  { browser }: Visitor,
  now_ms: number,
): Promise<Account | null> {
  const { rows } = await client.query<Account>(`${account_sql} WHERE p.person_id = $1`, [
    ...[person_id, tokenHash(browser ?? ''), now_ms],
  ])
  return rows[0] ?? null
}

const account_sql = `SELECT p.person_id, p.email, p.password,
  EXISTS (SELECT 1 FROM totp_secrets t WHERE t.person_id = p.person_id) AS second_factor, ${isKnownSql} AS known
  FROM people p`

/** Others who guess at an account never slow a browser that it knows. */
const pairOf = (email_key: string, account: Account | null, { browser, ip }: Visitor): string =>
  account?.known
    ? `browser ${tokenHash(browser ?? '').toString('base64')} ${email_key}`
    : `${addressBlock(ip)} ${email_key}`
