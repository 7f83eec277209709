import { Semaphore } from 'async-mutex'

/** Apps of a round that are loaded at the same time, and that are decided; each waits for some ten statements. */
const apps_at_once = 4

interface RoundsWork<App, Loaded, Done> {
  load(app: App): Promise<Loaded>
  decide(loaded: Loaded): Promise<Done>
  /** Nothing is decided before it. */
  waited: Promise<unknown>
  timed<T>(step: string, work: () => Promise<T>): Promise<T>
}

/**
 * Loads the rounds of a batch one after the other, and decides them one after the other once the wait is over. What is decided
 * of a round never waits for what is loaded of a later one. When it rejects, all that it began has ended.
 */
export async function inRounds<App, Loaded, Done>(
  rounds: readonly (readonly App[])[],
  { load, decide, waited, timed }: RoundsWork<App, Loaded, Done>,
): Promise<Done[]> {
  const loads = new Semaphore(apps_at_once)
  const decisions = new Semaphore(apps_at_once)
  const loading: Promise<Loaded[]>[] = []
  let before: Promise<unknown> = Promise.resolve()
  for (const round of rounds) {
    const loaded = before.then(() => ofEach(loads, round, load))
    loading.push(loaded)
    before = loaded
  }
  const all_loaded = timed('load', () => Promise.allSettled(loading))
  const done: Done[] = []
  try {
    await waited
    await timed('decide', async () => {
      for (const loaded of loading) done.push(...(await ofEach(decisions, await loaded, decide)))
    })
  } finally {
    await all_loaded
  }
  return done
}

/** Does the same for some apps at the same time. Rejects when all have ended. */
async function ofEach<App, Done>(places: Semaphore, apps: readonly App[], work: (app: App) => Promise<Done>) {
  const all = apps.map((app) => places.runExclusive(() => work(app)))
  await Promise.allSettled(all)
  return Promise.all(all)
}
