import { useEffect, useState } from 'react'
import { duration } from '../../api/numbers.ts'
import { useWatermark } from './query.ts'
import { texts } from './texts.ts'

/** Above this the numbers are late. */
const late_ms = 60_000

/** How old the numbers are: by the watermark of the writer where the person may see it, else when they were loaded. */
export function Freshness({ updated_at_ms }: { updated_at_ms: number }) {
  const status = useWatermark()
  const [now, setNow] = useState(Date.now)
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000)
    return () => clearInterval(timer)
  }, [])
  const writer = status.data?.consumers.find(({ name }) => name === 'event-writer')
  if (writer === undefined)
    return updated_at_ms === 0 ? null : (
      <span className="pill">{texts.loaded(duration(Math.max(0, now - updated_at_ms)))}</span>
    )
  if (writer.lag === 0) return <span className="pill good">{texts.fresh}</span>
  const age = writer.oldest_unwritten_ms ?? 0
  return <span className={age > late_ms ? 'pill bad' : 'pill warn'}>{texts.behind(duration(age))}</span>
}
