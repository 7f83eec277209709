/** The right to one partition until it is given away. */
export interface Lease {
  partition: number
  generation: string
  /** False once the partition belongs to someone else: commits are refused. */
  owned: boolean
  /** Fires when the partition is taken away or its consumption closes. */
  stop: AbortController
}

interface Member {
  take(lease: Lease): void
}

export interface ConsumerGroup {
  join(member: Member): void
  leave(member: Member): void
  isEmpty(): boolean
}

/**
 * Shares the partitions of a topic among the members of a group. A partition that changes hands gets a new generation
 * at once: its signal ends the former owner, which is fenced, as Kafka fences a member that missed a rebalance.
 */
export function createConsumerGroup(partitions: number, mintGeneration: () => string): ConsumerGroup {
  const members: Member[] = []
  const held = new Map<number, { member: Member; lease: Lease }>()

  function revoke(partition: number) {
    const lease = held.get(partition)?.lease
    if (lease === undefined) return
    lease.owned = false
    lease.stop.abort()
    held.delete(partition)
  }

  function rebalance() {
    for (let partition = 0; partition < partitions; partition += 1) {
      const owner = members[partition % members.length]
      if (held.get(partition)?.member === owner) continue
      revoke(partition)
      if (owner === undefined) continue
      const lease = { partition, generation: mintGeneration(), owned: true, stop: new AbortController() }
      held.set(partition, { member: owner, lease })
      owner.take(lease)
    }
  }

  return {
    join(member) {
      members.push(member)
      rebalance()
    },
    leave(member) {
      members.splice(members.indexOf(member), 1)
      rebalance()
    },
    isEmpty: () => members.length === 0,
  }
}
