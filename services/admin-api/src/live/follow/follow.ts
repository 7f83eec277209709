import type { FollowedClick, FollowMessage } from '@tributary/contracts/admin/live/follow'
import type { Decision } from '@tributary/contracts/attribution/decision'
import { limits } from '@tributary/contracts/limits'
import type { ValidPostback } from '@tributary/tables/rows/find-postbacks'
import type { FeedViewer } from '../feed-readers.ts'
import { createViewer, type Outlet, type Shown, toMessage } from '../viewer.ts'

interface FollowOptions {
  app_id: string
  company_id: string
  /** The App Store id whose postbacks are shown. */
  store_id: string | null
  since_ms: number
  /** Null: the install of the next click. */
  install_uuid: string | null
  /** Whether raw JSON and addresses are shown. */
  full: boolean
  elapsed: () => number
  outlet: Outlet
}

/** The install or link that one stream follows, and how far it has come. */
export interface Follow extends Pick<FollowOptions, 'app_id' | 'company_id' | 'store_id' | 'since_ms'> {
  events: FeedViewer<Shown>
  clicks: FeedViewer<FollowedClick>
  /** Null until it is known. */
  install(): string | null
  /** The click whose install is wanted; null before it came, and once the install is known. */
  wantedClick(): string | null
  /** Takes the install that the click brought, and shows its events until now. */
  takeInstall(install_uuid: string): void
  /** Shows the newest decision, unless it was shown. */
  takeDecision(decision: Decision): void
  /** Shows those that were not shown. */
  takePostbacks(found: readonly ValidPostback[]): void
}

export function createFollow({ full, elapsed, outlet, install_uuid: given, ...named }: FollowOptions): Follow {
  const waiting = createWaiting(elapsed)
  const show = (...messages: FollowMessage[]) => outlet.write(messages.map(toMessage).join(''))
  const viewerOf = (install: string) => createViewer({ filter: { install }, full, elapsed, outlet })
  const postback_keys = new Set<string>()
  let viewer = given === null ? null : viewerOf(given)
  let install_uuid = given
  let click_id: string | null = null
  let shown_decision: string | null = null

  return {
    ...named,
    events: {
      take(shown, missed) {
        if (viewer === null) waiting.put(shown, missed)
        else viewer.take(shown, missed)
      },
    },
    clicks: {
      take(clicks, missed) {
        if (click_id !== null) return
        const next = clicks.findIndex(({ stopped }) => stopped === null)
        const before = next === -1 ? clicks : clicks.slice(0, next + 1)
        const shown = before.slice(-limits.follow_clicks_of_write_max)
        const gap = missed + before.length - shown.length
        if (gap > 0) show({ kind: 'gap', gap })
        show(...shown)
        click_id = clicks[next]?.click_id ?? null
      },
    },
    install: () => install_uuid,
    wantedClick: () => (install_uuid === null ? click_id : null),
    takeInstall(found) {
      install_uuid = found
      viewer = viewerOf(found)
      const { shown, missed } = waiting.takeAll()
      viewer.take(shown, missed)
    },
    takeDecision(decision) {
      const { decided_at_ms, installed_at_ms, pending, verdict } = decision
      const text = JSON.stringify([decided_at_ms, decision.decided_at])
      if (text === shown_decision || outlet.waiting() > limits.live_waiting_chars_max) return
      const named = { install_uuid: decision.install_uuid }
      if (shown_decision === null) show({ kind: 'install', ...named, installed_at_ms })
      shown_decision = text
      const candidates = decision.candidates.slice(0, limits.follow_candidates_max)
      show({ kind: 'verdict', ...named, decided_at_ms, pending, verdict, candidates })
    },
    takePostbacks(found) {
      for (const { store_id: _store, postback_key, ...postback } of found) {
        if (postback_keys.has(postback_key) || postback_keys.size >= limits.follow_postbacks_max) continue
        postback_keys.add(postback_key)
        show({ kind: 'postback', ...postback })
      }
    },
  }
}

/** The events of an app that may be those of the install: the newest, until it is known. */
function createWaiting(elapsed: () => number) {
  let items: { one: Shown; until: number }[] = []
  let chars = 0
  let missed = 0

  function dropOld(): void {
    const kept = items.findIndex(({ until }) => until > elapsed())
    drop(kept === -1 ? items.length : kept)
  }
  function drop(count: number): void {
    for (const { one } of items.splice(0, count)) chars -= one.full.length
    missed += count
  }
  return {
    put(shown: readonly Shown[], missed_before: number): void {
      missed += missed_before
      dropOld()
      for (const one of shown) {
        if (one.item.install_uuid === null) continue
        items.push({ one, until: elapsed() + limits.follow_waiting_ms })
        chars += one.full.length
        while (chars > limits.follow_waiting_chars_max) drop(1)
      }
    },
    takeAll() {
      dropOld()
      const shown = items.map(({ one }) => one)
      items = []
      return { shown, missed }
    },
  }
}
