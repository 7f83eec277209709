/** A test file that failed, with the messages of its errors. */
export interface FailedFile {
  file: string
  /** Errors of each test, in the order of the file; none where it passed. */
  tests: readonly (readonly string[])[]
  /** Errors of the file and of hooks around its tests. */
  hooks: readonly string[]
}

/**
 * The failed files, when each of them failed first because a test or hook hung: what fails behind that, in a process whose
 * engine stands still, tells nothing. None when any failed for another reason first.
 */
export function findHungFiles(failed: readonly FailedFile[]): string[] {
  return failed.every(hungFirst) ? failed.map(({ file }) => file) : []
}

function hungFirst({ tests, hooks }: FailedFile): boolean {
  const first = tests.find((messages) => messages.length > 0) ?? hooks
  return first.some((message) => /^(Test|Hook) timed out in \d+ms/.test(message))
}
