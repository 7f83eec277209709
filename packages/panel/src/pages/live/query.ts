import { useQueryClient } from '@tanstack/react-query'
import type { LiveMessage } from '@tributary/contracts/admin/live/live'
import { useEffect, useRef, useState } from 'react'
import { addressOf } from '../../api/call.ts'
import { meQuery } from '../../shell/session.ts'

/** Older items leave: a page that stays open for days does not grow. */
const items_max = 400

type Item = Extract<LiveMessage, { at_ms: number }>
export type Shown = Item & { n: number }
type End = Extract<LiveMessage, { kind: 'end' }>['reason']

export interface Feed {
  state: 'connecting' | 'open' | 'closed'
  items: readonly Shown[]
  /** Came while the page is paused. */
  held: number
  gap: number
  end: End | null
}

interface Filter {
  install?: string | undefined
  name?: string | undefined
  code?: string | undefined
}

const nothing: Feed = { state: 'connecting', items: [], held: 0, gap: 0, end: null }

/** What comes in for an app, the newest first. The stream is closed while nobody can see the page. */
export function useFeed(app_id: string, { install, name, code }: Filter, paused: boolean): Feed {
  const [feed, setFeed] = useState<Feed>(nothing)
  const waiting = useRef<Shown[]>([])
  const counted = useRef(0)
  const client = useQueryClient()
  const visible = useVisible()
  useEffect(() => {
    if (!visible) return
    waiting.current = []
    setFeed(nothing)
    const source = new EventSource(addressOf('watchApp', { params: { app_id }, query: { install, name, code } }))
    source.onopen = () => setFeed((now) => ({ ...now, state: 'open' }))
    source.onerror = () => {
      setFeed((now) => ({ ...now, state: 'closed' }))
      // An ended session answers 401, which an EventSource does not show.
      void client.invalidateQueries(meQuery)
    }
    source.onmessage = ({ data }) => {
      const message = JSON.parse(data) as LiveMessage
      if (message.kind === 'gap') return setFeed((now) => ({ ...now, gap: now.gap + message.gap }))
      if (message.kind === 'end') {
        source.close()
        void client.invalidateQueries(meQuery)
        return setFeed((now) => ({ ...now, state: 'closed', end: message.reason }))
      }
      counted.current += 1
      waiting.current.push({ ...message, n: counted.current })
    }
    return () => source.close()
  }, [app_id, install, name, code, visible, client])
  useEffect(() => {
    // Many events a second are one change of the page.
    const timer = setInterval(() => {
      const held = waiting.current.length
      if (paused) return setFeed((now) => (now.held === held ? now : { ...now, held }))
      if (held === 0) return
      const fresh = waiting.current.splice(0).reverse()
      setFeed((now) => ({ ...now, held: 0, items: [...fresh, ...now.items].slice(0, items_max) }))
    }, 250)
    return () => clearInterval(timer)
  }, [paused])
  return feed
}

function useVisible(): boolean {
  const [visible, setVisible] = useState(() => document.visibilityState === 'visible')
  useEffect(() => {
    const look = () => setVisible(document.visibilityState === 'visible')
    document.addEventListener('visibilitychange', look)
    return () => document.removeEventListener('visibilitychange', look)
  }, [])
  return visible
}
