import type { LiveMessage } from '@tributary/contracts/admin/live/live'
import { useEffect, useRef, useState } from 'react'
import { addressOf } from '../../api/address.ts'
import { type StreamState, useStream } from '../../api/use-stream.ts'

/** Older items leave: a page that stays open for days does not grow. */
const items_max = 400

type Item = Extract<LiveMessage, { at_ms: number }>
export type Shown = Item & { n: number }

interface Items {
  items: readonly Shown[]
  /** Came while the page is paused. */
  held: number
}

interface Filter {
  install?: string | undefined
  name?: string | undefined
  code?: string | undefined
}

const nothing: Items = { items: [], held: 0 }

/** What comes in for an app, the newest first. The stream is closed while nobody can see the page. */
export function useFeed(app_id: string, { install, name, code }: Filter, paused: boolean): Items & StreamState {
  const [shown, setShown] = useState(nothing)
  const waiting = useRef<Shown[]>([])
  const counted = useRef(0)
  const stream = useStream<LiveMessage>(addressOf('watchApp', { params: { app_id }, query: { install, name, code } }), {
    begin() {
      waiting.current = []
      setShown(nothing)
    },
    take(message) {
      counted.current += 1
      waiting.current.push({ ...message, n: counted.current })
    },
  })
  useEffect(() => {
    // Many events a second are one change of the page.
    const timer = setInterval(() => {
      const held = waiting.current.length
      if (paused) return setShown((now) => (now.held === held ? now : { ...now, held }))
      if (held === 0) return
      const fresh = waiting.current.splice(0).reverse()
      setShown((now) => ({ held: 0, items: [...fresh, ...now.items].slice(0, items_max) }))
    }, 250)
    return () => clearInterval(timer)
  }, [paused])
  return { ...stream, ...shown }
}
