import type { FollowMessage } from '@tributary/contracts/admin/live/follow'
import { useRef, useState } from 'react'
import { addressOf } from '../../api/address.ts'
import { type StreamState, useStream } from '../../api/use-stream.ts'

/** Older messages leave: the page may stay open for a day. */
const messages_max = 400

export type Step = Exclude<FollowMessage, { kind: 'following' | 'gap' | 'end' }>

/** What is followed: the next click of a link, or an install. */
export type Subject = { link_id: string } | { install_uuid: string }

interface Followed extends StreamState {
  /** Gateways know what is followed. */
  ready: boolean
  steps: readonly (Step & { n: number })[]
}

/** What becomes of an install or a click, in the order of arrival. */
export function useFollow(app_id: string, subject: Subject): Followed {
  const [ready, setReady] = useState(false)
  const [steps, setSteps] = useState<Followed['steps']>([])
  const counted = useRef(0)
  const stream = useStream<FollowMessage>(addressOf('followInApp', { params: { app_id }, query: subject }), {
    begin() {
      setReady(false)
      setSteps([])
    },
    lost: () => setReady(false),
    take(message) {
      if (message.kind === 'following') return setReady(true)
      counted.current += 1
      const step = { ...message, n: counted.current }
      setSteps((now) => [...now, step].slice(-messages_max))
    },
  })
  return { ...stream, ready, steps }
}
