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

export type Make = (random: Random, n: number, tenants: FuzzTenants) => Draft
