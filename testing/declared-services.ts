import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Engines } from '@tributary/service-kit/engines/engine'
import { type DefinedService, settingsOf } from '@tributary/service-kit/service/define-service'
import type { SettingName } from '@tributary/service-kit/settings/settings'

const folder = join(import.meta.dirname, '..', 'services')

/** A service as tests of what surrounds it need it. */
export interface DeclaredService {
  name: string
  /** Names under which its parts use its engines. */
  engines: string[]
  /** Its bindings in `/health`. */
  bindings: string[]
  settings: SettingName[]
  required: SettingName[]
  hasRoutes: boolean
}

/** Each service that declares itself, by name: all but standalone. */
export async function declaredServices(): Promise<DeclaredService[]> {
  const names = readdirSync(folder).filter((name) => name !== 'standalone')
  return Promise.all(names.sort().map(async (name) => describeService(await load(name))))
}

async function load(name: string) {
  const { service } = await import(join(folder, name, 'src', 'service.ts'))
  return service as DefinedService<Engines, SettingName, SettingName, unknown>
}

function describeService(service: Awaited<ReturnType<typeof load>>): DeclaredService {
  const { name, engines, routes } = service
  const bindings = Object.values(engines).flatMap(({ binding }) => binding ?? [])
  return { name, engines: Object.keys(engines), bindings, ...settingsOf(service), hasRoutes: routes !== undefined }
}
