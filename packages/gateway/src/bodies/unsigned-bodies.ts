/** The memory of a body whose signature is not checked yet. */
export interface UnsignedBody {
  bytes: number
  /** Its address and, if strangers have a gateway of their own, that gateway. */
  holders: readonly string[]
  /** The app whose public keys it came with. */
  app: string | null
  /** Ends the body, which gives its bytes back; null when it has arrived whole. */
  evict: (() => void) | null
  /** Bytes times milliseconds in memory, up to `counted_at_ms`. */
  cost: number
  counted_at_ms: number
}

export interface UnsignedBodies {
  /** Takes `amount` more, if necessary in place of other bodies; false if the body itself has to go. */
  take(body: UnsignedBody, amount: number): boolean
  give(body: UnsignedBody): void
  /** The body has arrived whole: nothing takes its place any more. */
  pin(body: UnsignedBody): void
  /** Whether a new body of these holders may begin. */
  hasRoom(holders: readonly string[]): boolean
}

/** The part of the memory that one address, or one gateway of strangers, may have. */
const holder_part = 1 / 2
/**
 * The part of the memory that is freed at a time, because a search for the costliest bodies for each chunk would take
 * too long.
 */
const headroom_part = 1 / 16

/**
 * The memory for bodies whose signature is not checked yet. Keys of an app are public, and addresses cost little, so
 * neither proves anything, and a full memory must not refuse new bodies. A new body takes the place of another one:
 * first the costliest app is chosen, then its costliest address, then the costliest body of that address, by bytes and
 * time. A body that arrives at once costs nothing yet, so it always finds room. Bodies that have arrived whole stay.
 *
 * A network switch that is full pushes out of its longest queue in the same way (Wei, Coyle and Hsiao, "An optimal
 * buffer management policy for high-performance packet switching", 1991).
 */
export function createUnsignedBodies(bytes_max: number, now: () => number): UnsignedBodies {
  /** Bodies that may be ended. */
  const arriving = new Set<UnsignedBody>()
  const all = createSums()
  const whole = createSums()

  function add(body: UnsignedBody, amount: number) {
    all.add(body.holders, amount)
    if (body.evict === null) whole.add(body.holders, amount)
    body.bytes += amount
    if (body.bytes > 0 && body.evict !== null) arriving.add(body)
    else arriving.delete(body)
  }

  /** The cost of a body. One millisecond is added, so that the largest of several new bodies costs most. */
  function costOf(body: UnsignedBody): number {
    const now_ms = now()
    body.cost += body.bytes * (now_ms - body.counted_at_ms)
    body.counted_at_ms = now_ms
    return body.cost + body.bytes
  }

  /**
   * Makes room for `amount`, and for some more, in place of bodies that `concerns` names. False if the body itself
   * would be the next to go.
   */
  function makeRoom(own: UnsignedBody, amount: number, free: () => number, concerns: (body: UnsignedBody) => boolean) {
    if (free() >= amount) return true
    const wanted = Math.max(amount, bytes_max * headroom_part)
    const ranked = rank([...arriving].filter(concerns).concat(arriving.has(own) ? [] : own), costOf)
    while (free() < wanted) {
      const worst = ranked.next()
      if (worst === null || worst === own) break
      worst.evict?.()
    }
    return free() >= amount
  }

  return {
    take(body, amount) {
      costOf(body)
      for (const holder of body.holders) {
        const free = () => bytes_max * holder_part - all.of(holder)
        if (!makeRoom(body, amount, free, ({ holders }) => holders.includes(holder))) return false
      }
      if (
        !makeRoom(
          body,
          amount,
          () => bytes_max - all.total(),
          () => true,
        )
      )
        return false
      add(body, amount)
      return true
    },
    give: (body) => add(body, -body.bytes),
    pin(body) {
      if (body.evict === null) return
      body.evict = null
      arriving.delete(body)
      whole.add(body.holders, body.bytes)
    },
    hasRoom: (holders) =>
      whole.total() < bytes_max && holders.every((holder) => whole.of(holder) < bytes_max * holder_part),
  }
}

/** Bytes of each holder and of all. */
function createSums() {
  const heldBy = new Map<string, number>()
  let sum = 0
  return {
    add(holders: readonly string[], amount: number) {
      sum += amount
      for (const holder of holders) {
        const held = (heldBy.get(holder) ?? 0) + amount
        if (held === 0) heldBy.delete(holder)
        else heldBy.set(holder, held)
      }
    },
    of: (holder: string) => heldBy.get(holder) ?? 0,
    total: () => sum,
  }
}

/** Gives bodies one by one. Each is the costliest body of the costliest address of the costliest app at that moment. */
function rank(bodies: readonly UnsignedBody[], costOf: (body: UnsignedBody) => number) {
  interface Costs<Member> {
    cost: number
    members: Member[]
  }
  type Address = Costs<{ body: UnsignedBody; cost: number }>
  const apps: Costs<Address>[] = [...Map.groupBy(bodies, ({ app }) => app).values()].map((ofApp) => {
    const members = [...Map.groupBy(ofApp, ({ holders }) => holders[0]).values()].map((ofAddress): Address => {
      const costs = ofAddress.map((body) => ({ body, cost: costOf(body) })).sort((a, b) => b.cost - a.cost)
      return { cost: costOfAll(costs), members: costs }
    })
    return { cost: costOfAll(members), members }
  })
  return {
    next(): UnsignedBody | null {
      const app = most(apps)
      const address = app && most(app.members)
      const worst = address?.members.shift()
      if (app === null || !address || worst === undefined) return null
      address.cost -= worst.cost
      app.cost -= worst.cost
      if (address.members.length === 0) app.members.splice(app.members.indexOf(address), 1)
      if (app.members.length === 0) apps.splice(apps.indexOf(app), 1)
      return worst.body
    },
  }
}

const costOfAll = (all: readonly { cost: number }[]): number => all.reduce((sum, { cost }) => sum + cost, 0)

const most = <T extends { cost: number }>(all: readonly T[]): T | null =>
  all.reduce<T | null>((first, one) => (first === null || one.cost > first.cost ? one : first), null)
