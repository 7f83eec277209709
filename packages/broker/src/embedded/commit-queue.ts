/** Something to be written; what it stages is durable when `submit` resolves. */
interface Write<Staging> {
  /** Adds its changes to the commit. Throwing refuses this write alone: it must have staged nothing by then. */
  stage(staging: Staging): void
  /** Runs once the commit is durable, before anyone hears of it. */
  applied?(): void
}

export interface CommitQueue<Staging> {
  /** Resolves when the write is durable; rejects when it may not be. */
  submit(write: Write<Staging>): Promise<void>
}

interface Commit<Staging> {
  staging: Staging
  /** False: no more writes into this commit. */
  hasRoom(): boolean
  /** Resolves when all of the staging is durable, in one atomic step. */
  run(): Promise<void>
}

interface Queued<Staging> extends Write<Staging> {
  resolve(): void
  reject(error: unknown): void
}

/** Group commit: one commit at a time, and all that arrives meanwhile shares the next one. */
export function createCommitQueue<Staging>(begin: () => Commit<Staging>): CommitQueue<Staging> {
  const queued: Queued<Staging>[] = []
  let running = false

  function takeStaged(commit: Commit<Staging>): Queued<Staging>[] {
    const staged: Queued<Staging>[] = []
    let taken = 0
    while (taken < queued.length && commit.hasRoom()) {
      const write = queued[taken]!
      taken += 1
      try {
        write.stage(commit.staging)
        staged.push(write)
      } catch (error) {
        write.reject(error)
      }
    }
    queued.splice(0, taken)
    return staged
  }

  async function drain(): Promise<void> {
    running = true
    // A turn later: calls made together, as the publishers woken by one commit do, share the next one.
    await new Promise((resolve) => setImmediate(resolve))
    while (queued.length > 0) {
      const commit = begin()
      const staged = takeStaged(commit)
      if (staged.length > 0) await finish(commit, staged)
      await new Promise((resolve) => setImmediate(resolve))
    }
    running = false
  }

  async function finish(commit: Commit<Staging>, staged: Queued<Staging>[]): Promise<void> {
    try {
      await commit.run()
    } catch (error) {
      for (const write of staged) write.reject(error)
      return
    }
    for (const write of staged) write.applied?.()
    for (const write of staged) write.resolve()
  }

  return {
    submit: (write) =>
      new Promise((resolve, reject) => {
        queued.push({ stage: write.stage, applied: write.applied, resolve, reject })
        if (!running) void drain()
      }),
  }
}
