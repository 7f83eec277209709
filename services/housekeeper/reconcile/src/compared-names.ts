import { hash } from 'node:crypto'
import type { NamedObject } from './look/look-at-requests.ts'

/** Remembers names of audit objects that were compared. */
export interface ComparedNames {
  /** Begins a look: what it chooses is remembered once the look has ended. */
  begin(): {
    /** Those that are not known. */
    choose(objects: readonly NamedObject[]): NamedObject[]
    keep(): void
  }
}

/** At most `names_max` names, in 8 bytes each; then all are forgotten and compared again. A restart forgets them too. */
export function comparedNames(names_max: number): ComparedNames {
  const known = new Set<number>()
  return {
    begin() {
      const chosen: number[] = []
      return {
        choose: (objects) =>
          objects.filter(({ key }) => {
            if (key === null) return true
            const name = nameOf(key)
            if (known.has(name)) return false
            chosen.push(name)
            return true
          }),
        keep() {
          if (known.size + chosen.length > names_max) known.clear()
          for (const name of chosen) known.add(name)
        },
      }
    },
  }
}

/** 48 bits: a name of another object is the same once in 10^8 at a million names. */
const nameOf = (key: string): number => hash('sha256', key, 'buffer').readUIntBE(0, 6)
