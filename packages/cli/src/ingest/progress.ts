import { Presets, SingleBar } from 'cli-progress'

export interface Progress {
  update(bytes_read: number, events: number): void
  stop(): void
}

/** Shows the progress through a file and the rate of events or costs, on a terminal only. */
export function startProgress(bytes: number, shown: boolean, what = 'events'): Progress {
  if (!shown || !process.stderr.isTTY) return { update: () => {}, stop: () => {} }
  const started = performance.now()
  const format = ` {bar} {percentage}% | {events} ${what} | {rate} ${what}/s | {eta_formatted} left`
  const bar = new SingleBar({ format, stream: process.stderr, hideCursor: true }, Presets.shades_classic)
  bar.start(Math.max(1, bytes), 0, { events: 0, rate: 0 })
  return {
    update(bytes_read, events) {
      const rate = Math.round((events * 1000) / Math.max(1, performance.now() - started))
      bar.update(bytes_read, { events, rate })
    },
    stop: () => bar.stop(),
  }
}
