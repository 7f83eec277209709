/** Options of every request. Only a tag of `call` confirms an answer, not the cache of the browser. */
export const requestOptions = { credentials: 'same-origin', cache: 'no-store' } as const

/** An answer that began longer ago may be old, and is not taken. */
const fresh_ms_max = 5000

const begun = new Map<string, { at_ms: number; answer: Promise<Response> }>()

/** Begins a request that the page is about to make. */
export function begin(address: string): Promise<Response> {
  const answer = fetch(address, requestOptions)
  begun.set(address, { at_ms: performance.now(), answer })
  // The caller that takes the answer handles its failure; nobody else has to.
  answer.catch(() => {})
  return answer
}

/** The answer of a request that began before; each is taken once. */
export function takeBegun(address: string): Promise<Response> | undefined {
  const one = begun.get(address)
  begun.delete(address)
  return one !== undefined && performance.now() - one.at_ms < fresh_ms_max ? one.answer : undefined
}

/** Forgets what has begun: a change makes answers from before it wrong. */
export const forgetBegun = (): void => begun.clear()
