import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Resources } from '@tributary/service-kit/resources/resource'
import type { DefinedProcess } from '@tributary/service-kit/service/define-process'
import { type DefinedService, settingsOf } from '@tributary/service-kit/service/define-service'
import type { SettingName } from '@tributary/service-kit/settings/settings'

const folder = join(import.meta.dirname, '..', 'services')

/** A service, or a process of several, as tests of what surrounds it need it. */
export interface DeclaredService {
  name: string
  /** Names under which its parts use its resources. */
  resources: string[]
  /** Its bindings in `/health`. */
  bindings: string[]
  settings: SettingName[]
  required: SettingName[]
  hasRoutes: boolean
}

export interface DeclaredProcess extends DeclaredService {
  /** Its services, under their own names; a process of one service has that one. */
  parts: DeclaredService[]
  /** Whether its settings may be for one of its parts alone. */
  isParted: boolean
}

type Defined = DefinedService<Resources, SettingName, SettingName, unknown>

/** Each service that declares itself, by name: all but standalone. */
export async function declaredServices(): Promise<DeclaredService[]> {
  const processes = await declaredProcesses()
  return processes.flatMap(({ parts }) => parts).sort((one, other) => (one.name < other.name ? -1 : 1))
}

/** Each program that runs in production, by name. */
export async function declaredProcesses(): Promise<DeclaredProcess[]> {
  return (await loadProcesses()).map(({ name, parts, isParted }) => {
    const described = parts.map(describeService)
    const all = <T>(of: (one: DeclaredService) => readonly T[]): T[] => [...new Set(described.flatMap(of))]
    return {
      ...{ name, parts: described, isParted },
      resources: all(({ resources }) => resources),
      bindings: all(({ bindings }) => bindings),
      settings: [...all(({ settings }) => settings), ...(isParted ? (['TRIBUTARY_PARTS'] as const) : [])],
      required: all(({ required }) => required),
      hasRoutes: described.some(({ hasRoutes }) => hasRoutes),
    }
  })
}

/** The services of each program as they are defined. */
export async function loadProcesses(): Promise<{ name: string; parts: readonly Defined[]; isParted: boolean }[]> {
  const names = readdirSync(folder).filter((name) => name !== 'standalone')
  return Promise.all(
    names.sort().map(async (name) => {
      const { service } = await import(join(folder, name, 'src', 'service.ts'))
      const { parts } = service as Partial<DefinedProcess<Defined>>
      return { name, parts: parts ?? [service as Defined], isParted: parts !== undefined }
    }),
  )
}

function describeService(service: Defined): DeclaredService {
  const { name, resources, routes } = service
  const bindings = Object.values(resources).flatMap(({ binding }) => binding ?? [])
  return { name, resources: Object.keys(resources), bindings, ...settingsOf(service), hasRoutes: routes !== undefined }
}
