import { setTimeout as pause } from 'node:timers/promises'
import { attacker_ip } from './addresses.ts'
import { answerName } from './answers.ts'
import type { Target } from './attack.ts'
import { type Signer, signedHeaders } from './tenants.ts'

/** How long the attacker waits for an answer. */
const answer_ms_max = 60_000

export interface Got {
  /** See `Answers`. */
  name: string
  text: string
}

/** Sends a request as the attacker and counts its answer. */
export async function send(target: Target, path: string, init: RequestInit): Promise<Got> {
  const headers = { 'x-forwarded-for': attacker_ip, ...(init.headers as Record<string, string>) }
  const signal = AbortSignal.timeout(answer_ms_max)
  const got = await fetch(`${target.url}${path}`, { ...init, headers, signal })
    .then(async (answer) => {
      const text = await answer.text()
      return { name: answerName(answer.status, text), text }
    })
    .catch(() => ({ name: 'no answer', text: '' }))
  target.answers.count(got.name)
  return got
}

/** Sends a body with the signature of the attacker's app, or of another whose secret it has. */
export const sendSigned = (
  target: Target,
  path: string,
  body: Buffer<ArrayBuffer>,
  gzip: boolean,
  { signer = target.attacker, ip = attacker_ip }: { signer?: Signer; ip?: string } = {},
): Promise<Got> => {
  const encoding = gzip ? { 'content-encoding': 'gzip' } : {}
  const headers = { 'x-forwarded-for': ip, ...signedHeaders(signer, body), ...encoding }
  return send(target, path, { method: 'POST', headers, body })
}

/** Runs `clients` in parallel. Each repeats `step` until the attack ends. */
export async function inParallel(
  { signal }: Pick<Target, 'signal'>,
  clients: number,
  step: (client: number) => Promise<unknown>,
): Promise<void> {
  const client = async (_: unknown, n: number) => {
    while (!signal.aborted) await step(n)
  }
  await Promise.all(Array.from({ length: clients }, client))
}

/** Waits, at most until the end of the attack. */
export const rest = ({ signal }: Pick<Target, 'signal'>, ms: number): Promise<void> =>
  pause(ms, undefined, { signal }).catch(() => {})
