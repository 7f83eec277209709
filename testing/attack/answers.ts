/**
 * Counts answers by name: the status and the error code, if any (`200`, `429 rate_limited`). `closed`: the service closed
 * the connection without an answer. `left open`: it answered but did not close the connection. `no answer`: the request
 * waited for a minute.
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
