import { randomUUID } from 'node:crypto'
import { appPartition } from '@tributary/broker/partition'
import type { RedecisionList } from '@tributary/tables/attribution/redecisions'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'

export interface RedecisionsUnderTest {
  /** A list whose topic has `list_partitions` partitions; another call opens the same one, as another process does. */
  open(): RedecisionList
  dispose(): Promise<void>
}

export const list_partitions = 2

/** Ids of apps of partition 0, in their order. */
const appsOf = (partition: number, count: number): string[] => {
  const found: string[] = []
  for (let n = 0; found.length < count; n += 1) {
    const app_id = `app_${String(n).padStart(4, '0')}`
    if (appPartition(app_id, list_partitions) === partition) found.push(app_id)
  }
  return found
}

const installs = (app_id: string, count: number) =>
  Array.from({ length: count }, (_, n) => ({ app_id, install_uuid: `i${String(n).padStart(5, '0')}` }))
const named = (all: readonly { app_id: string; install_uuid: string }[]) =>
  all.map(({ app_id, install_uuid }) => `${app_id}/${install_uuid}`).toSorted()

/** The promises of every list of re-decisions (redecisions.ts). */
export function redecisionsSuite(name: string, start: () => Promise<RedecisionsUnderTest>): void {
  describe(`${name} keeps the promises of the list of re-decisions`, () => {
    let under: RedecisionsUnderTest
    let list: RedecisionList
    const [app, other] = appsOf(0, 2) as [string, string]
    const slice = () => ({ partition: 0, name: randomUUID() })

    beforeEach(async () => {
      under = await start()
      list = under.open()
    })
    afterEach(() => under.dispose())

    it('has one entry of an install, however many reasons there are', async () => {
      const [one] = installs(app, 1)
      await list.add([one!, one!])
      await list.add([one!])
      expect(await list.backlog()).toMatchObject({ count: 1 })
      const [taken] = await list.take(slice(), 10)
      expect(taken).toMatchObject(one!)
      expect((await list.backlog()).oldest_ms).toSatisfy((ms: number) => Number.isInteger(ms) && ms >= 0)
    })

    it('is empty once all entries of a slice are decided', async () => {
      await list.add(installs(app, 5))
      const first = slice()
      const taken = await list.take(first, 3)
      expect(taken).toHaveLength(3)
      expect(await list.finish(first, taken)).toBe(true)
      const second = slice()
      const rest = await list.take(second, 3)
      expect(named([...taken, ...rest])).toEqual(named(installs(app, 5)))
      expect(await list.finish(second, rest)).toBe(false)
      expect(await list.backlog()).toEqual({ count: 0, oldest_ms: null })
    })

    it('keeps an entry that got a reason after it was taken, behind the others of its app', async () => {
      await list.add(installs(app, 1))
      const first = slice()
      const taken = await list.take(first, 10)
      await list.add(installs(app, 2))
      expect(await list.finish(first, taken)).toBe(true)
      const again = slice()
      const next = await list.take(again, 1)
      expect(named(next)).toEqual([`${app}/i00001`])
      await list.finish(again, next)
      const [kept] = await list.take(slice(), 1)
      expect(kept).toMatchObject({ app_id: app, install_uuid: 'i00000' })
      expect(kept!.reason_number).not.toBe(taken[0]!.reason_number)
    })

    it('gives an entry that was removed a new number', async () => {
      const numbers = new Set<string>()
      for (let n = 0; n < 3; n += 1) {
        const at = slice()
        await list.add(installs(app, 1))
        const taken = await list.take(at, 1)
        numbers.add(taken[0]!.reason_number)
        await list.finish(at, taken)
      }
      expect(numbers.size).toBe(3)
    })

    it('gives all that a slice did not finish to the next one, of any process, which alone can finish it', async () => {
      await list.add(installs(app, 20))
      const lost = slice()
      const asleep = await list.take(lost, 10)
      // Others come in between that would have their turn first.
      await list.add(installs(other, 20))
      const owner = under.open()
      const next = slice()
      const taken = await owner.take(next, 5)
      expect(named(taken)).toEqual(named(asleep))
      await list.finish(lost, asleep)
      expect((await list.backlog()).count).toBe(40)
      await owner.finish(next, taken)
      expect((await list.backlog()).count).toBe(30)
    })

    it('gives a slice that was released without a decision to later ones', async () => {
      await list.add(installs(app, 2))
      const first = slice()
      await list.take(first, 2)
      expect(await list.finish(first, [])).toBe(true)
      expect(await list.take(slice(), 2)).toHaveLength(2)
    })

    it('lets what a slice released without a decision keep its age, before younger entries of its app', async () => {
      for (const one of installs(app, 3)) await list.add([one])
      const first = slice()
      const taken = await list.take(first, 2)
      await list.finish(first, [])
      expect(named(await list.take(slice(), 2))).toEqual(named(taken))
    })

    it('takes of each app in turn, so that a thousand entries of one hold no other up', async () => {
      await list.add(installs(app, 1000))
      await list.add(installs(other, 1))
      const at = slice()
      const taken = await list.take(at, 8)
      expect(Map.groupBy(taken, ({ app_id }) => app_id).get(other)).toHaveLength(1)
      expect(taken.length).toBeLessThanOrEqual(8)
    })

    it('comes to every app within as many slices as there are apps by places', async () => {
      const apps = appsOf(0, 12)
      for (const one of apps) await list.add(installs(one, 30))
      const seen = new Set<string>()
      for (let n = 0; n < 3; n += 1) {
        const at = slice()
        const taken = await list.take(at, 4)
        for (const { app_id } of taken) seen.add(app_id)
        await list.finish(at, taken)
      }
      expect(seen.size).toBe(12)
    })

    it('knows which partitions have entries, and takes from no other', async () => {
      const [far] = appsOf(1, 1)
      expect(await list.partitions()).toEqual([])
      await list.add([...installs(app, 1), ...installs(far!, 1)])
      expect(await list.partitions()).toEqual([0, 1])
      const at = { partition: 1, name: randomUUID() }
      const taken = await list.take(at, 10)
      expect(named(taken)).toEqual(named(installs(far!, 1)))
      expect(await list.finish(at, taken)).toBe(false)
      expect(await list.partitions()).toEqual([0])
    })

    it('knows the apps of a partition that have entries, by pages', async () => {
      const apps = appsOf(0, 5)
      await list.add([...apps, ...appsOf(1, 1)].flatMap((one) => installs(one, 3)))
      expect(await list.apps(0, '', 3)).toEqual(apps.slice(0, 3))
      expect(await list.apps(0, apps[2]!, 3)).toEqual(apps.slice(3))
      expect(await list.apps(0, apps[4]!, 3)).toEqual([])
    })

    it('takes thousands of entries from several at once, each of them once', async () => {
      const all = installs(app, 5000)
      await Promise.all([list.add(all), list.add(all.toReversed()), under.open().add(all)])
      expect((await list.backlog()).count).toBe(5000)
    })
  })
}
