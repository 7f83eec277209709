import type { Surface } from '@tributary/contracts/errors'
import type { Random } from '../random.ts'
import type { FuzzApp, FuzzTenants } from '../tenants.ts'

export type Header = [name: string, value: string]

/** A request before it has its length and becomes bytes. */
export interface Draft {
  kind: string
  method: string
  path: string
  headers: Header[]
  body: Buffer
  surface: Surface | null
  app: FuzzApp | null
  valid_events?: number
}

/** Values that no parameter of a path or a query expects, as they go over the wire. */
export const strange = ['x', '', '%00', "'", '..', '__proto__', 'x'.repeat(300)]

export type Make = (random: Random, n: number, tenants: FuzzTenants) => Draft
