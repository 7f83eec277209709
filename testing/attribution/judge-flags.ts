import { type FraudFlag, fraudFlags } from '@tributary/contracts/attribution/verdict'
import type { SimInstall } from './history.ts'

export interface FlagQuality {
  flag: FraudFlag
  flagged: number
  guilty: number
  /** Share of the flagged that deserve it. */
  precision: number
  /** Share of those who deserve it that are flagged. */
  recall: number
}

/** How well each flag finds what the fraudsters of the simulation did. */
export function judgeFlags(
  installs: readonly SimInstall[],
  flagsOf: (install: SimInstall) => readonly FraudFlag[],
): FlagQuality[] {
  return fraudFlags.map((flag) => {
    const flagged = installs.filter((install) => flagsOf(install).includes(flag))
    const guilty = installs.filter(({ truth }) => truth.guilty.includes(flag))
    const right = flagged.filter(({ truth }) => truth.guilty.includes(flag)).length
    return {
      ...{ flag, flagged: flagged.length, guilty: guilty.length },
      precision: flagged.length === 0 ? 1 : right / flagged.length,
      recall: guilty.length === 0 ? 1 : right / guilty.length,
    }
  })
}
