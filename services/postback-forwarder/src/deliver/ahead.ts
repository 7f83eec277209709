import type { TakenPostback } from '@tributary/tables/partners/due-postbacks'
import type { Pace } from './pace.ts'

interface Waiting {
  taken: TakenPostback
  since_ms: number
  /** Frees its place. */
  release: () => void
}

/**
 * Postbacks that were taken ahead. Each begins when a try of its partner ends, so that a partner that drains waits for no statement between
 * its tries. They are given back, untried, once none of the partner may begin any more.
 */
export function createAhead(
  pace: Pace,
  { begin, giveBack }: Record<'begin' | 'giveBack', (one: TakenPostback) => void>,
) {
  const partners = new Map<string, Waiting[]>()
  const nameOf = ({ app_id, partner }: TakenPostback) => `${app_id}/${partner}`

  /** Ends the wait of one, and returns it with the time that is left to it now. */
  function endWait({ taken, since_ms, release }: Waiting): TakenPostback {
    release()
    return { ...taken, left_ms: taken.left_ms - (performance.now() - since_ms) }
  }

  function wait(taken: TakenPostback): void {
    const waiting = { taken, since_ms: performance.now(), release: pace.wait(taken) }
    const before = partners.get(nameOf(taken))
    if (before === undefined) partners.set(nameOf(taken), [waiting])
    else before.push(waiting)
  }

  return {
    isEmpty: (): boolean => partners.size === 0,
    /** Begins a postback that was taken, or has it wait. */
    add(taken: TakenPostback): void {
      if (pace.mayBegin(taken)) begin(taken)
      else if (pace.mayWait(taken)) wait(taken)
      else giveBack(taken)
    },
    /** A try of the partner has ended. */
    next(ended: TakenPostback): void {
      const waiting = partners.get(nameOf(ended)) ?? []
      while (waiting.length > 0 && pace.mayBegin(ended)) begin(endWait(waiting.shift()!))
      if (!pace.mayWait(ended)) for (const one of waiting.splice(0)) giveBack(endWait(one))
      if (waiting.length === 0) partners.delete(nameOf(ended))
    },
    /** Drops those that are gone, and returns them. */
    drop(isGone: (one: TakenPostback) => boolean): TakenPostback[] {
      const gone = [...partners.values()].flat().filter(({ taken }) => isGone(taken))
      for (const [name, waiting] of partners) {
        const left = waiting.filter((one) => !gone.includes(one))
        if (left.length > 0) partners.set(name, left)
        else partners.delete(name)
      }
      return gone.map(endWait)
    },
    /** Gives all of them back. */
    clear(): void {
      const all = [...partners.values()].flat()
      partners.clear()
      for (const one of all) giveBack(endWait(one))
    },
  }
}
