import { hash } from 'node:crypto'
import type { NamedObject } from './look/look-at-requests.ts'

/** Remembers names of audit objects that were compared, of those whose names show no hour. */
export interface ComparedNames {
  /** Begins a look: what it chooses is remembered once the look has ended. */
  begin(): {
    /** Those that are not known. Timed ones are left out, unless they are asked for. */
    choose(objects: readonly NamedObject[], timed?: 'timed ones too'): NamedObject[]
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
        choose: (objects, timed) =>
          objects.filter(({ key, received_at_ms }) => {
            if (received_at_ms !== null && timed === undefined) return false
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
