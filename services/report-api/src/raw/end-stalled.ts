import type { ServerResponse } from 'node:http'
import { finished } from 'node:stream'

/** Pause between two looks. */
const look_ms = 1000

/**
 * Ends a connection whose client has taken nothing for `stalled_ms_max` although something waits for it. The engine may
 * think for longer than that before there is anything to take.
 */
export function endStalled(raw: ServerResponse, stalled_ms_max: number): void {
  let written = -1
  let since = performance.now()
  const timer = setInterval(
    () => {
      const { socket } = raw
      const waits = (socket?.writableLength ?? 0) > 0
      if (!waits || socket!.bytesWritten - socket!.writableLength !== written) {
        written = (socket?.bytesWritten ?? 0) - (socket?.writableLength ?? 0)
        since = performance.now()
      } else if (performance.now() - since > stalled_ms_max) raw.destroy()
    },
    Math.min(look_ms, stalled_ms_max),
  )
  timer.unref()
  finished(raw, { readable: false }, () => clearInterval(timer))
}
