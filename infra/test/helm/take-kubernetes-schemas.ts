import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Writes kubernetes-schemas.json: what the API of Kubernetes takes of each kind that the chart makes, from
 * `api/openapi-spec/swagger.json` of the Go module `k8s.io/kubernetes`. Its path is the argument. Descriptions are left out, and a field that
 * the API does not know is refused, as `kubeconform -strict` does it.
 */
const kinds = [
  'io.k8s.api.apps.v1.Deployment',
  'io.k8s.api.autoscaling.v2.HorizontalPodAutoscaler',
  'io.k8s.api.batch.v1.Job',
  'io.k8s.api.core.v1.ConfigMap',
  'io.k8s.api.core.v1.Service',
  'io.k8s.api.core.v1.ServiceAccount',
  'io.k8s.api.networking.v1.Ingress',
  'io.k8s.api.networking.v1.NetworkPolicy',
  'io.k8s.api.policy.v1.PodDisruptionBudget',
]

interface Swagger {
  definitions: Record<string, Definition>
}
type Definition = Record<string, unknown> & { properties?: Record<string, unknown>; format?: string }

function take(
  swagger: Swagger,
  version: string,
): { version: string; kinds: Record<string, string>; definitions: object } {
  const taken = new Map<string, unknown>()
  const follow = (name: string): void => {
    if (taken.has(name)) return
    taken.set(name, {})
    taken.set(name, strict(swagger.definitions[name]!, follow))
  }
  kinds.forEach(follow)
  return {
    version,
    kinds: Object.fromEntries(kinds.map((name) => [name.split('.').at(-1)!, name])),
    definitions: Object.fromEntries([...taken].sort(([one], [other]) => (one < other ? -1 : 1))),
  }
}

function strict(schema: Definition, follow: (name: string) => void): unknown {
  const { $ref, type, format, properties, required, items, additionalProperties } = schema
  if (typeof $ref === 'string') {
    const name = $ref.replace('#/definitions/', '')
    follow(name)
    // Quantities such as 1 or 500m, and ports by number or name.
    if (/\.(Quantity|IntOrString)$/.test(name)) return { type: ['string', 'number'] }
    return { $ref: `#/definitions/${name}` }
  }
  const inner = (one: unknown) => strict(one as Definition, follow)
  const known = Object.entries(properties ?? {}).map(([name, one]) => [name, inner(one)])
  return {
    ...(format === 'int-or-string' ? { type: ['string', 'number'] } : type !== undefined && { type }),
    ...(properties && { properties: Object.fromEntries(known), additionalProperties: false }),
    ...(required !== undefined && { required }),
    ...(items !== undefined && { items: inner(items) }),
    ...(typeof additionalProperties === 'object' && { additionalProperties: inner(additionalProperties) }),
  }
}

if (import.meta.main) {
  const file = process.argv[2] ?? ''
  const swagger = JSON.parse(readFileSync(file, 'utf8'))
  writeFileSync(
    join(import.meta.dirname, 'kubernetes-schemas.json'),
    `${JSON.stringify(take(swagger, /kubernetes@(v[\d.]+)/.exec(file)?.[1] ?? file))}\n`,
  )
}
