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
