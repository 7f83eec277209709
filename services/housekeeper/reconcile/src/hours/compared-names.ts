import type { NamedObject } from '../look/list-objects.ts'
import { shortName } from '../look/suspects.ts'

/** Remembers names of audit objects that were compared, of those whose names show no hour. */
export interface ComparedNames {
  /** Begins a look: what it chooses is remembered once the look has ended. */
  begin(): {
    /** Those of a folder that are not known. Timed ones are left out, unless they are asked for. */
    choose(objects: readonly NamedObject[], folder: string, timed?: 'timed ones too'): NamedObject[]
    /** Has an object not be remembered: something in it is left. */
    leave(key: string): void
    keep(): void
  }
}

/**
 * At most `names_max` names, each of a few dozen bytes. With more of them the folder that has most is forgotten, and its objects are
 * compared again: a tenant that sends too much has no other one's read again. A restart forgets all.
 */
export function comparedNames(names_max: number): ComparedNames {
  const known = new Map<string, Set<number>>()
  const sizeOf = () => known.values().reduce((sum, names) => sum + names.size, 0)
  const largest = () => [...known].reduce((most, one) => (one[1].size > most[1].size ? one : most))[0]
  return {
    begin() {
      const chosen = new Map<string, number[]>()
      const left = new Set<number>()
      return {
        choose: (objects, folder, timed) =>
          objects.filter(({ key, received_at_ms }) => {
            if (received_at_ms !== null && timed === undefined) return false
            if (key === null) return true
            const name = shortName(key)
            if (known.get(folder)?.has(name)) return false
            const some = chosen.get(folder)
            if (some === undefined) chosen.set(folder, [name])
            else some.push(name)
            return true
          }),
        leave: (key) => void left.add(shortName(key)),
        keep() {
          for (const [folder, names] of chosen) {
            const some = known.get(folder) ?? new Set()
            for (const name of names) if (!left.has(name)) some.add(name)
            known.set(folder, some)
          }
          while (sizeOf() > names_max) known.delete(largest())
        },
      }
    },
  }
}
