/**
 * Counts answers by name: the status, and the error code where there is one (`200`, `429 rate_limited`). `closed` is a
 * connection that the service closed without an answer, `left open` one that it answered and should have closed, `no
 * answer` a request that waited for a minute.
 */
export interface Answers {
  count(name: string): void
  all(): Record<string, number>
}

export function countAnswers(): Answers {
  const counts = new Map<string, number>()
  return {
    count: (name) => counts.set(name, (counts.get(name) ?? 0) + 1),
    all: () => Object.fromEntries(counts),
  }
}

/** The name of an answer. */
export function answerName(status: number, text: string): string {
  if (status < 400) return String(status)
  try {
    return `${status} ${(JSON.parse(text) as { error: string }).error}`
  } catch {
    return `${status} without a code`
  }
}
