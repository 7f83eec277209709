import { useEffect, useState } from 'react'
import { Fault } from '../parts/fault.tsx'
import { Skeleton } from '../parts/skeleton.tsx'
import { isGone, needsReload, reloadOnce } from './reload-once.ts'

/** Takes the place of a page that broke. A tab from before an upgrade loads itself again instead, once for each file. */
export function PageFault({ error, reset }: { error: unknown; reset: () => void }) {
  const [old] = useState(() => (needsReload(error) ? error : null))
  useEffect(() => {
    if (old !== null) reloadOnce(old)
  }, [old])
  if (old !== null) return <Skeleton shape="page" />
  // The router keeps the error of a script until the page is loaded again.
  return <Fault error={error} retry={isGone(error) ? () => location.reload() : reset} />
}
