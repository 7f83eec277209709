import { residentMegabytes } from './process-cost.ts'

/** Watches the resident memory of this process; the function that it returns ends that and gives the peak, MB. */
export function watchMemory(): () => number {
  let peak = 0
  const look = () => {
    peak = Math.max(peak, process.memoryUsage.rss())
  }
  const timer = setInterval(look, 100)
  return () => {
    clearInterval(timer)
    look()
    return Math.round(peak / 1024 / 1024)
  }
}

/** The same of another process. */
export function watchMemoryOf(pid: number): () => number {
  let peak = 0
  const look = () => {
    peak = Math.max(peak, residentMegabytes(pid))
  }
  const timer = setInterval(look, 200)
  return () => {
    clearInterval(timer)
    look()
    return peak
  }
}
