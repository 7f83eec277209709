import { hash } from 'node:crypto'
import { audit_group_ms_max } from '@tributary/audited/reading'
import { hourOf } from './findings.ts'
import type { NamedObject } from './list-objects.ts'

/**
 * What the first of two looks has found, by name. The second one reads only what the first one names, and keeps only what both have
 * found.
 */
export interface Suspects {
  /** Begins of the hours to compare; null in the first look, which compares all that are due. */
  hours: ReadonlySet<number> | null
  /** Whether something that a store lacks, or has too often, counts: in the first look it does. */
  counts(store: string, name: string): boolean
  /** Has the second look read an audit object again, whose name may show no hour. */
  readAgain(key: string): void
  /** Whether the second look reads an object. */
  isChosen(object: NamedObject): boolean
}

/** Names that are remembered; with more of them everything that the second look finds in the same hours counts. */
const names_max = 200_000

/** The first look, and the second one at the hours of what it has found. */
export function firstLook(): { first: Suspects; second(hours: ReadonlySet<number>): Suspects } {
  const names = new Set<number>()
  const keys = new Set<string>()
  const isFull = () => names.size + keys.size >= names_max
  const first: Suspects = {
    hours: null,
    counts(store, name) {
      if (!isFull()) names.add(shortName(`${store} ${name}`))
      return true
    },
    readAgain(key) {
      if (!isFull()) keys.add(key)
    },
    isChosen: () => true,
  }
  const second = (hours: ReadonlySet<number>): Suspects => ({
    hours,
    counts: (store, name) => isFull() || names.has(shortName(`${store} ${name}`)),
    readAgain() {},
    isChosen({ key, received_at_ms: at_ms }) {
      if (isFull() || key === null || keys.has(key)) return true
      return at_ms !== null && [at_ms, at_ms + audit_group_ms_max].some((ms) => hours.has(hourOf(ms)))
    },
  })
  return { first, second }
}

/** 48 bits: another name is the same once in 10^8 at a million names. */
export const shortName = (name: string): number => hash('sha256', name, 'buffer').readUIntBE(0, 6)
