import type { Random } from '../fuzz/random.ts'
import { type Behaviour, deep, devices, search, social, web } from './clean-partners.ts'
import { bots, clones, farm, flood, inject, trap } from './fraud-partners.ts'
import { type History, openStage, type SimApp } from './history.ts'
import { forgers, latecomers, sharers, strangers, unheard } from './organic-people.ts'

export interface Simulation {
  android: SimApp
  ios: SimApp
  /** Midnight UTC of the first day. */
  start_ms: number
  days: number
  /** Acts of the largest behaviour on a day; at least 60, or the clean partners have too few clicks for a median. */
  acts: number
  flood_clicks: number
  random: Random
}

/** How often each behaviour occurs on a day, as a share of `acts`. Those of iOS have no Play referrer. */
const shares: Record<'android' | 'ios', [Behaviour, number][]> = {
  android: [
    [search, 1],
    [social, 0.8],
    [deep, 1],
    [web, 1],
    [strangers, 1],
    [latecomers, 0.2],
    [unheard, 0.1],
    [sharers, 0.1],
    [forgers, 0.2],
    [inject, 0.2],
    [bots, 0.2],
    [trap, 0.2],
  ],
  ios: [
    [devices, 1],
    [deep, 0.3],
    [strangers, 0.5],
  ],
}

/** All that ten partners and everybody else do within some days. */
export function simulate({ android, ios, start_ms, days, acts, flood_clicks, random }: Simulation): History {
  const stage = openStage(random, start_ms)
  for (let day = 0; day < days; day += 1) {
    for (const [behave, share] of shares.android) repeat(acts * share, () => behave(stage, android, day))
    for (const [behave, share] of shares.ios) repeat(acts * share, () => behave(stage, ios, day))
    if (day % 2 === 0) flood(stage, android, day, flood_clicks)
    farm(stage, android, day, day)
    clones(stage, android, day)
  }
  return stage.history
}

function repeat(times: number, act: () => void): void {
  for (let n = 0; n < Math.round(times); n += 1) act()
}
