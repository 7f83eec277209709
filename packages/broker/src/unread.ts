import type { PartitionOffsets } from './broker.ts'

type Offsets = Pick<PartitionOffsets, 'committed' | 'earliest' | 'end'>

/**
 * The offset at which a group reads on: what it has committed, or the earliest record when the log does not have that
 * place. It lies below `earliest` after retention, and beyond `end` when the log has gone backwards.
 */
export const firstUnread = ({ committed, earliest, end }: Offsets): number =>
  committed === null || committed < earliest || committed > end ? earliest : committed

/** How many offsets of a partition a group has still to read; never negative. */
export const lagOf = (offsets: Offsets): number => offsets.end - firstUnread(offsets)
