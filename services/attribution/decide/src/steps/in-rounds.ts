import { Semaphore } from 'async-mutex'

/** Apps of a round that are loaded at the same time, and that are decided; each waits for some ten statements. */
const apps_at_once = 4
/** No other app is begun when so many have failed: it is an engine that fails. */
const failed_apps_max = 8

interface RoundsWork<App, Loaded, Done> {
  load(app: App): Promise<Loaded>
  decide(loaded: Loaded): Promise<Done>
  /** Nothing is decided before it. */
  waited: Promise<unknown>
  /** Ends it between two apps. */
  signal: AbortSignal
  timed<T>(step: string, work: () => Promise<T>): Promise<T>
}

/**
 * Loads the rounds of a batch one after the other, and decides them one after the other once the wait is over. What is decided
 * of a round never waits for what is loaded of a later one. Rejects if an app failed, once the others are done. When it rejects,
 * all that it began has ended.
 */
export async function inRounds<App, Loaded, Done>(
  rounds: readonly (readonly App[])[],
  { load, decide, waited, signal: stop, timed }: RoundsWork<App, Loaded, Done>,
): Promise<Done[]> {
  const failures: unknown[] = []
  const over = new AbortController()
  const signal = AbortSignal.any([stop, over.signal])
  const [loads, decisions] = [new Semaphore(apps_at_once), new Semaphore(apps_at_once)]
  const loading: Promise<Loaded[]>[] = []
  let before: Promise<unknown> = Promise.resolve()
  for (const round of rounds) {
    const loaded = before.then(() => ofEach(loads, round, load))
    loading.push(loaded)
    before = loaded
  }
  const all_loaded = timed('load', () => before)
  const done: Done[] = []
  try {
    await waited
    await timed('decide', async () => {
      for (const loaded of loading) done.push(...(await ofEach(decisions, await loaded, decide)))
    })
  } finally {
    over.abort()
    await all_loaded
  }
  if (failures.length > 0) throw failures[0]
  return done

  /** Does the same for some apps at the same time, and leaves out those that fail. */
  async function ofEach<One, Result>(slots: Semaphore, apps: readonly One[], work: (app: One) => Promise<Result>) {
    const all = apps.map((app) =>
      slots.runExclusive(async () => {
        try {
          signal.throwIfAborted()
          return [await work(app)]
        } catch (err) {
          failures.push(err)
          if (failures.length >= failed_apps_max) over.abort(err)
          return []
        }
      }),
    )
    return (await Promise.all(all)).flat()
  }
}
