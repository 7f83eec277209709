import { limits } from '@tributary/contracts/limits'
import type { DueTarget, Wanted } from '@tributary/tables/partners/due-postbacks'

/** The last tries of a partner of an app. */
interface State {
  company_id: string
  /** Its last try was delivered, in less than `partner_slow_try_ms`. */
  proven: boolean
  failures: number
  /** Nothing is tried until then, Unix epoch ms. */
  stopped_until_ms: number
  at_once: number
  /** Taken ahead: they begin when tries of the partner end. */
  ahead: number
}

/** The result of a try, for the pace of its partner. */
export interface TryResult {
  ok: boolean
  elapsed_ms: number
  /** The partner asked for this pause. */
  retry_after_ms: number | null
}

/**
 * Shares the tries of a process out among partners, so that a dead or slow one delays no other. A try holds one of few fast places for
 * its first second and one of many slow places afterwards. Postbacks are taken ahead of their tries as long as that many fast places are
 * free, and hold none: their partner may stop to answer. Partners that were not delivered to lately, quickly, have one try at once, and
 * leave half of the fast places to the others; those whose last try failed hold at most a quarter of them. One that fails is stopped for
 * growing times (circuit breaker). A company has at most twice as many tries as places are free, and begins none of such a partner beyond
 * as many as are free: partners which all stop to answer never take every place.
 */
export function createPace(now: () => number, limit = limits) {
  const states = new Map<string, State>()
  const places = { fast: 0, ahead: 0, unproven: 0, failing: 0, slow: 0 }
  /** Tries at once of companies that have some. */
  const ofCompany = new Map<string, number>()
  let turn = 0

  const stateOf = ({ app_id, partner, company_id }: DueTarget): State => {
    const name = `${app_id}/${partner}`
    const known = states.get(name)
    if (known !== undefined) return known
    if (states.size >= states_max) forgetIdle()
    const made = { company_id, proven: false, failures: 0, stopped_until_ms: 0, at_once: 0, ahead: 0 }
    states.set(name, made)
    return made
  }

  function forgetIdle(): void {
    for (const [name, state] of states)
      if (state.at_once + state.ahead === 0 && state.failures === 0) states.delete(name)
  }

  /** A stop that ends later than any may is one of a clock that was ahead. */
  const isStopped = ({ stopped_until_ms }: State): boolean => {
    const left_ms = stopped_until_ms - now()
    return left_ms > 0 && left_ms <= Math.max(limit.partner_breaker_ms_max, limit.partner_retry_after_stop_ms_max)
  }

  /** How many tries of a partner may begin now, besides those that are at work. */
  const roomOf = (state: State): number => {
    if (isStopped(state)) return 0
    return Math.max(0, (state.proven ? limit.partner_tries_at_once_max : 1) - state.at_once)
  }

  /** How many postbacks of a partner may be taken ahead now: as many wait as may be tried at once. */
  const aheadOf = (state: State): number =>
    state.proven && !isStopped(state) ? Math.max(0, limit.partner_tries_at_once_max - state.ahead) : 0
  const freePlaces = () => limit.partner_fast_tries_max - places.fast

  return {
    /** Whether a try may begin. */
    hasRoom: () => freePlaces() > 0,
    /** Whether a postback that was taken may begin. */
    mayBegin: (target: DueTarget): boolean => roomOf(stateOf(target)) > 0,
    /** Whether one that may not begin waits for the end of another try of its partner. */
    mayWait(target: DueTarget): boolean {
      const state = stateOf(target)
      return state.at_once > 0 && state.proven && !isStopped(state)
    },
    /** Counts a postback that was taken ahead; call what it returns when it waits no longer. */
    wait(target: DueTarget): () => void {
      const state = stateOf(target)
      state.ahead += 1
      places.ahead += 1
      return () => {
        state.ahead -= 1
        places.ahead -= 1
      }
    },
    /** How many postbacks of which partners are taken now, to be tried or ahead: companies in turn, then their partners; proven ones first, failing ones last. */
    share(targets: readonly DueTarget[]): Wanted[] {
      turn += 1
      const open = inTurn(targets, turn)
        .map((target) => ({ target, state: stateOf(target) }))
        .filter(({ state }) => roomOf(state) + aheadOf(state) > 0)
      const proven = open.filter(({ state }) => state.proven)
      const others = open
        .filter(({ state }) => !state.proven)
        .toSorted((a, b) => Number(isFailing(a.state)) - Number(isFailing(b.state)))
      let free = freePlaces()
      let free_ahead = free - places.ahead
      let free_unproven = Math.min(free, limit.partner_fast_tries_max / 2 - places.unproven)
      let free_failing = limit.partner_fast_tries_max / 4 - places.failing
      const each = Math.max(1, Math.floor(free / Math.max(1, open.length)))
      const held = new Map(ofCompany)
      let free_all = freePlaces() + limit.partner_slow_tries_max - places.slow
      /** The tries that a company may begin, so that it has at most its share of the places that are free afterwards. */
      const spareOf = ({ company_id, proven }: State): number => {
        const per_free = limit.partner_company_tries_per_free_max / (proven ? 1 : 2)
        return Math.ceil((per_free * free_all - (held.get(company_id) ?? 0)) / (per_free + 1))
      }
      const wanted: Wanted[] = []
      for (const { target, state } of [...proven, ...others]) {
        const left = Math.min(free, state.proven ? free : free_unproven, isFailing(state) ? free_failing : free)
        const most = Math.min(each, spareOf(state))
        const begun = Math.max(0, Math.min(most, roomOf(state), left))
        const ahead = Math.max(0, Math.min(most - begun, aheadOf(state), free_ahead - begun))
        if (begun + ahead === 0) continue
        free -= begun
        free_ahead -= begun + ahead
        free_all -= begun
        held.set(target.company_id, (held.get(target.company_id) ?? 0) + begun)
        if (!state.proven) free_unproven -= begun
        if (isFailing(state)) free_failing -= begun
        wanted.push({ app_id: target.app_id, partner: target.partner, max: begun + ahead })
      }
      return wanted
    },
    /** Begins a try; call what it returns at its end. */
    begin(target: DueTarget): (result: TryResult | null) => void {
      const state = stateOf(target)
      const { company_id } = target
      const { proven } = state
      const failing = isFailing(state)
      let place: 'fast' | 'slow' = 'fast'
      state.at_once += 1
      ofCompany.set(company_id, (ofCompany.get(company_id) ?? 0) + 1)
      places.fast += 1
      if (!proven) places.unproven += 1
      if (failing) places.failing += 1
      const toSlow = setInterval(() => {
        if (place === 'slow' || places.slow >= limit.partner_slow_tries_max) return
        leaveFast()
        places.slow += 1
        place = 'slow'
      }, limit.partner_slow_try_ms)
      function leaveFast() {
        places.fast -= 1
        if (!proven) places.unproven -= 1
        if (failing) places.failing -= 1
      }
      return (result) => {
        clearInterval(toSlow)
        state.at_once -= 1
        const others = ofCompany.get(company_id)! - 1
        if (others === 0) ofCompany.delete(company_id)
        else ofCompany.set(company_id, others)
        if (place === 'slow') places.slow -= 1
        else leaveFast()
        if (result !== null) learn(state, result)
      }
    },
  }

  function learn(state: State, { ok, elapsed_ms, retry_after_ms }: TryResult): void {
    state.proven = ok && elapsed_ms < limit.partner_slow_try_ms
    if (ok) {
      state.failures = 0
      state.stopped_until_ms = 0
      return
    }
    // Tries that end while it is stopped began before: they are of one fault.
    if (!isStopped(state)) state.failures += 1
    const asked_ms = Math.min(retry_after_ms ?? 0, limit.partner_retry_after_stop_ms_max)
    const pause_ms = Math.min(limit.partner_breaker_ms * 2 ** (state.failures - 1), limit.partner_breaker_ms_max)
    const until_ms = now() + Math.max(asked_ms, pause_ms)
    state.stopped_until_ms = isStopped(state) ? Math.max(state.stopped_until_ms, until_ms) : until_ms
  }
}

export type Pace = ReturnType<typeof createPace>

/** Whether the last try of a partner failed. */
const isFailing = ({ failures }: State): boolean => failures > 0

/** Partners that are remembered. */
const states_max = 20_000

/** One partner of each company, then the next one of each; the first company is another one each time. */
function inTurn(targets: readonly DueTarget[], turn: number): DueTarget[] {
  const companies = [...Map.groupBy(targets, ({ company_id }) => company_id).values()]
  const first = companies.length === 0 ? 0 : turn % companies.length
  const rotated = [...companies.slice(first), ...companies.slice(0, first)].map((of) => {
    const begin = turn % of.length
    return [...of.slice(begin), ...of.slice(0, begin)]
  })
  const longest = Math.max(0, ...rotated.map((of) => of.length))
  return Array.from({ length: longest }, (_, n) => rotated.flatMap((of) => of[n] ?? [])).flat()
}
