import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { declaredProcesses } from '@tributary/testing/declared-services'
import { expect } from 'vitest'
import { parse } from 'yaml'
import { chart, type Manifest } from './render-chart.ts'

export const helm = join(chart, '..')
/** Values of infra/helm/examples. */
export const example = (name: string) => parse(readFileSync(join(helm, 'examples', `${name}.yaml`), 'utf8'))
export const processes = await declaredProcesses()
export const names = processes.map(({ name }) => name)
export const withRoutes = processes.filter(({ hasRoutes }) => hasRoutes).map(({ name }) => name)

export const ofKind = (manifests: Manifest[], kind: string) => manifests.filter((one) => one.kind === kind)
/** Name of the service that an object belongs to. */
export const component = ({ metadata }: Manifest) => metadata.labels['app.kubernetes.io/component'] ?? ''
/** The one object of a kind that belongs to a service. */
export function find(manifests: Manifest[], kind: string, name: string): Manifest {
  const found = ofKind(manifests, kind).filter((one) => component(one) === name)
  expect(found, `${kind} of ${name}`).toHaveLength(1)
  return found[0]!
}
