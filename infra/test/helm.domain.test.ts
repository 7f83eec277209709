import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type SettingName, settings } from '@tributary/service-kit/settings/settings'
import { describe, expect, it } from 'vitest'
import { readCompose } from './compose-file.ts'
import { component, example, find, helm, names, ofKind, processes } from './helm/find-objects.ts'
import { refusedFields } from './helm/refused-fields.ts'
import { type Manifest, manifestsOf, render, renderText } from './helm/render-chart.ts'

const small = example('small')
const cloud = example('cloud')
interface Variable {
  name: string
  value?: string
  valueFrom?: { secretKeyRef: { name: string; key: string; optional: boolean } }
}
const podOf = (manifest: Manifest) => manifest.spec.template.spec
const containerOf = (manifest: Manifest) => podOf(manifest).containers[0]
const envOf = (manifest: Manifest): Variable[] => containerOf(manifest).env

const isUser = (name: string) => /^TRIBUTARY_((POSTGRES|CLICKHOUSE)_URL|S3_(SECRET_)?ACCESS_KEY(_ID)?)$/.test(name)
const isSecret = (name: SettingName) => settings[name].secret !== undefined || isUser(name)
/** Set by the image and the chart: a service listens where its probes look, and runs all of its parts. */
const placed = ['TRIBUTARY_HOST', 'TRIBUTARY_PORT', 'TRIBUTARY_PARTS']
const ofPart = (name: string, part: string) => `${name}__${part.toUpperCase().replaceAll('-', '_')}`
/** Every setting that may stand in values, each with some text. */
const every = Object.fromEntries(
  [...new Set(processes.flatMap(({ settings: own }) => own))]
    .filter((name) => !isSecret(name) && !placed.includes(name))
    .map((name) => [name, 'some']),
)

const rendered = render(small)
const full = render({ ...small, settings: { ...small.settings, ...every } })

it.each([
  ['small', small],
  ['cloud', cloud],
])('renders the values %s as they are in the repository; `npm test -- -u` writes them anew', async (name, values) => {
  await expect(renderText(values)).toMatchFileSnapshot(join(helm, 'rendered', `${name}.yaml`))
})

it.each([
  ['small', small],
  ['cloud', cloud],
])('makes of the values %s what the API of Kubernetes takes', (_name, values) => {
  for (const manifest of render(values))
    expect(refusedFields(manifest), `${manifest.kind} ${manifest.metadata.name}`).toEqual([])
  const wrong = manifestsOf(renderText(values).replace('terminationGracePeriodSeconds', 'terminationGraceSeconds'))
  expect(wrong.flatMap(refusedFields)).toEqual([expect.stringContaining('terminationGraceSeconds')])
})

it('runs each service that there is, and the load balancer, and nothing else', () => {
  const deployments = ofKind(rendered, 'Deployment').map(component)
  expect(deployments.sort()).toEqual([...names, 'load-balancer'].sort())
  for (const name of names)
    expect(containerOf(find(rendered, 'Deployment', name)).args).toEqual([`services/${name}/src/main.ts`])
})

describe.each(processes)('$name', ({ name, parts, isParted, settings: own, required }) => {
  const env = envOf(find(full, 'Deployment', name))
  const byName = new Map(env.map((variable) => [variable.name, variable]))

  it('is given each setting that it declares, and no other', () => {
    const expected = own
      .filter((one) => !placed.includes(one))
      .flatMap((one) => {
        if (!isParted || !isUser(one)) return [one]
        return parts.filter((part) => part.settings.includes(one)).map((part) => ofPart(one, part.name))
      })
    expect(
      env
        .map((one) => one.name)
        .filter((one) => /^(TRIBUTARY|OTEL)_/.test(one))
        .sort(),
    ).toEqual(expected.sort())
  })

  it('gets its secrets from Secrets alone, and does not start without one that it needs', () => {
    for (const { name: variable, value, valueFrom } of env.filter((one) => /^(TRIBUTARY|OTEL)_/.test(one.name))) {
      const [setting = '', ending] = variable.split('__')
      expect(valueFrom !== undefined, variable).toBe(isSecret(setting as SettingName))
      if (valueFrom === undefined) expect(value, variable).toBeTruthy()
      if (valueFrom === undefined) continue
      const part = parts.find((one) => ofPart(setting, one.name) === variable)
      const needed = (ending === undefined ? required : part!.required).includes(setting as SettingName)
      expect(valueFrom.secretKeyRef).toMatchObject({ key: variable, optional: !needed })
      // A user at a server is one service's own.
      if (isUser(setting)) expect(valueFrom.secretKeyRef.name).toBe(`tributary-${name}`)
    }
  })

  it('has in the smallest values what it needs to start', () => {
    const given = envOf(find(rendered, 'Deployment', name)).map((one) => one.name.replace(/__.*/, ''))
    expect(given).toEqual(expect.arrayContaining([...required]))
    expect(byName.get('TRIBUTARY_HOST')).toBeUndefined() // that of the image: every address of the pod
  })

  it('is probed where it answers, by the port at which it listens', () => {
    const { ports, startupProbe, livenessProbe, readinessProbe } = containerOf(find(rendered, 'Deployment', name))
    expect(ports).toEqual([{ name: 'http', containerPort: Number(settings.TRIBUTARY_PORT.default_text) }])
    const at = (path: string) => ({ httpGet: { path, port: 'http' } })
    expect(startupProbe).toMatchObject(at('/health'))
    expect(livenessProbe).toMatchObject(at('/health'))
    expect(readinessProbe).toMatchObject(at('/ready'))
  })

  it('has an account of its own that may do nothing in the cluster, a budget, and room to end', () => {
    const deployment = find(rendered, 'Deployment', name)
    expect(podOf(deployment)).toMatchObject({
      serviceAccountName: `tributary-${name}`,
      automountServiceAccountToken: false,
    })
    expect(find(rendered, 'ServiceAccount', name)).toMatchObject({ automountServiceAccountToken: false })
    expect(find(rendered, 'PodDisruptionBudget', name).spec.selector).toEqual(deployment.spec.selector)
    // A service ends by itself within 20 s (run-service.ts).
    expect(podOf(deployment).terminationGracePeriodSeconds).toBeGreaterThan(20)
  })
})

it('starts every pod without rights', () => {
  const pods = [...ofKind(rendered, 'Deployment'), ...ofKind(rendered, 'Job')].map(podOf)
  expect(pods).toHaveLength(names.length + 2)
  for (const pod of pods) {
    expect(pod.securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } })
    expect(pod).toMatchObject({ automountServiceAccountToken: false, enableServiceLinks: false })
    for (const { securityContext, resources } of [...pod.containers, ...(pod.initContainers ?? [])]) {
      const guards = { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } }
      expect(securityContext).toEqual(guards)
      expect(resources).toMatchObject({ requests: { cpu: expect.anything(), memory: expect.anything() }, limits: {} })
      expect(resources.limits.memory).toBeTruthy()
    }
  }
})

it('gives each service the memory that compose gives it, at least', () => {
  const bytes = (text: string) => Number.parseInt(text, 10) * (/g/i.test(text) ? 1024 : 1)
  const compose = readCompose(new Proxy({}, { get: () => 'some' }))
  for (const name of names) {
    const { limits } = containerOf(find(rendered, 'Deployment', name)).resources
    expect(bytes(limits.memory), name).toBeGreaterThanOrEqual(bytes(`${compose[name]?.mem_limit}`))
  }
})

it('spreads the pods of each service over zones and nodes', () => {
  for (const deployment of ofKind(render(cloud), 'Deployment')) {
    const spread = podOf(deployment).topologySpreadConstraints as { topologyKey: string; labelSelector: object }[]
    expect(spread).toMatchObject([
      { topologyKey: 'topology.kubernetes.io/zone', whenUnsatisfiable: 'DoNotSchedule' },
      {},
    ])
    for (const { labelSelector } of spread) expect(labelSelector).toEqual(deployment.spec.selector)
  }
})

describe('scaling', () => {
  const scaled = render(cloud)
  it('leaves the number of pods to the autoscaler where there is one', () => {
    for (const scaler of ofKind(scaled, 'HorizontalPodAutoscaler')) {
      const deployment = find(scaled, 'Deployment', component(scaler))
      expect(deployment.spec).not.toHaveProperty('replicas')
      expect(scaler.spec.scaleTargetRef.name).toBe(deployment.metadata.name)
      expect(scaler.spec.minReplicas, component(scaler)).toBeGreaterThan(1)
    }
  })
  it('scales consumers by their lag too, by a metric that they have, and nobody else', () => {
    const metricsOf = (name: string) => find(scaled, 'HorizontalPodAutoscaler', name).spec.metrics
    expect(metricsOf('event-writer')).toMatchObject([{ type: 'Resource' }, { type: 'Pods' }])
    expect(metricsOf('ingest-gateway')).toMatchObject([{ type: 'Resource' }])
    const documented = readFileSync(join(helm, '..', '..', 'docs', 'metrics.md'), 'utf8')
    expect(documented).toContain(`\`${metricsOf('event-writer')[1].pods.metric.name}\``)
  })
})

it('makes topics and schemas before services of a new version start', () => {
  const job = find(rendered, 'Job', 'migrate')
  for (const one of [job, find(rendered, 'ServiceAccount', 'migrate')])
    expect(one.metadata.annotations).toMatchObject({ 'helm.sh/hook': 'pre-install,pre-upgrade' })
  const { initContainers, containers } = podOf(job)
  const commands = [...initContainers, ...containers].map(({ args }: { args: string[] }) => args.slice(1).join(' '))
  expect(commands).toEqual(['topics apply', 'migrate'])
  const secrets = envOf(job).flatMap(({ valueFrom }) => valueFrom?.secretKeyRef ?? [])
  // It alone holds all rights.
  expect(secrets.filter(({ key }) => /URL$/.test(key))).toEqual([
    { name: 'tributary-migrate', key: 'TRIBUTARY_CLICKHOUSE_URL', optional: false },
    { name: 'tributary-migrate', key: 'TRIBUTARY_POSTGRES_URL', optional: false },
  ])
})
