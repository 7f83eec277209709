import { useQueryClient } from '@tanstack/react-query'
import type { StreamEnd, StreamGap } from '@tributary/contracts/admin/live/live'
import { useEffect, useRef, useState } from 'react'
import type { z } from 'zod'
import { meQuery } from '../shell/session.ts'

type Control = z.infer<typeof StreamGap> | z.infer<typeof StreamEnd>

export interface StreamState {
  state: 'connecting' | 'open' | 'closed'
  /** What the stream left out. */
  gap: number
  end: z.infer<typeof StreamEnd>['reason'] | null
}

const nothing: StreamState = { state: 'connecting', gap: 0, end: null }

interface Taker<Message> {
  /** Called before the first message of a stream. */
  begin(): void
  /** Called when the connection is gone; it may come back by itself. */
  lost?(): void
  take(message: Exclude<Message, Control>): void
}

/** Reads server-sent events while the page can be seen; another address begins anew. */
export function useStream<Message extends { kind: string }>(
  address: string | null,
  taker: Taker<Message>,
): StreamState {
  const [stream, setStream] = useState(nothing)
  const newest = useRef(taker)
  useEffect(() => {
    newest.current = taker
  })
  const client = useQueryClient()
  const visible = useVisible()
  useEffect(() => {
    if (!visible || address === null) return
    newest.current.begin()
    setStream(nothing)
    const source = new EventSource(address)
    source.onopen = () => setStream((now) => ({ ...now, state: 'open' }))
    source.onerror = () => {
      setStream((now) => ({ ...now, state: 'closed' }))
      newest.current.lost?.()
      // An ended session answers 401, which an EventSource does not show.
      void client.invalidateQueries(meQuery)
    }
    source.onmessage = ({ data }) => {
      const message = JSON.parse(data) as Message | Control
      if (isGap(message)) return setStream((now) => ({ ...now, gap: now.gap + message.gap }))
      if (isEnd(message)) {
        source.close()
        void client.invalidateQueries(meQuery)
        return setStream((now) => ({ ...now, state: 'closed', end: message.reason }))
      }
      newest.current.take(message as Exclude<Message, Control>)
    }
    return () => source.close()
  }, [address, visible, client])
  return stream
}

const isGap = (message: { kind: string }): message is z.infer<typeof StreamGap> => message.kind === 'gap'
const isEnd = (message: { kind: string }): message is z.infer<typeof StreamEnd> => message.kind === 'end'

function useVisible(): boolean {
  const [visible, setVisible] = useState(() => document.visibilityState === 'visible')
  useEffect(() => {
    const look = () => setVisible(document.visibilityState === 'visible')
    document.addEventListener('visibilitychange', look)
    return () => document.removeEventListener('visibilitychange', look)
  }, [])
  return visible
}
