import { Presets, SingleBar } from 'cli-progress'

/** The bar appears when a report takes longer than this. */
const hidden_ms = 1000

interface Window {
  since_ms: number
  until_ms: number
}

/** Shows on a terminal how far a long report has come through its window; rows come in the order of their days. */
export function startProgress({ since_ms, until_ms }: Window, stream: NodeJS.WriteStream = process.stderr) {
  const started = performance.now()
  const format = ' {bar} {percentage}% | {rows} rows | {eta_formatted} left'
  const bar = new SingleBar({ format, stream, hideCursor: true, clearOnComplete: true }, Presets.shades_classic)
  let isShown = false
  return {
    /** `day` is the last one that has come. */
    update(day: string | undefined, rows: number): void {
      if (!stream.isTTY || day === undefined) return
      if (!isShown && performance.now() - started < hidden_ms) return
      if (!isShown) bar.start(Math.max(1, until_ms - since_ms), 0, { rows })
      isShown = true
      bar.update(Math.max(0, Date.parse(day) - since_ms), { rows })
    },
    stop(): void {
      if (isShown) bar.stop()
    },
  }
}
