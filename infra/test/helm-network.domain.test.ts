import { describe, expect, it } from 'vitest'
import { example, find, names, ofKind, processes, withRoutes } from './helm/find-objects.ts'
import { render } from './helm/render-chart.ts'

const small = example('small')
const cloud = example('cloud')
const rendered = render(small)

describe('network', () => {
  const policies = ofKind(rendered, 'NetworkPolicy')
  const egressPorts = (name: string) =>
    find(policies, 'NetworkPolicy', name).spec.egress.flatMap((rule: { ports: { port: number }[] }) =>
      rule.ports.map(({ port }) => port),
    )
  const serverPorts = { queues: 9092, analytics: 8123, database: 5432, key_value: 6379, object_storage: 443 }

  it('refuses all that no policy names', () => {
    const [deny] = policies.filter(({ metadata }) => metadata.name === 'tributary-deny')
    expect(deny?.spec).toEqual({
      podSelector: {
        matchLabels: { 'app.kubernetes.io/name': 'tributary', 'app.kubernetes.io/instance': 'tributary' },
      },
      policyTypes: ['Ingress', 'Egress'],
    })
  })
  it('lets each service reach the servers that it uses, and names, and no other server', () => {
    for (const { name, bindings } of processes) {
      const reached = Object.entries(serverPorts).filter(([, port]) => egressPorts(name).includes(port))
      const internet = egressPorts(name).includes(587)
      expect(
        reached
          .map(([binding]) => binding)
          .filter((one) => !internet || one !== 'object_storage')
          .sort(),
        name,
      ).toEqual(bindings.filter((one) => !internet || one !== 'object_storage').sort())
      expect(egressPorts(name)).toContain(53)
    }
  })
  it('lets services with a collector of traces reach it, each of them and nobody else', () => {
    const collector = (values: object) =>
      [...names, 'migrate'].filter((name) =>
        JSON.stringify(find(ofKind(render(values as never), 'NetworkPolicy'), 'NetworkPolicy', name).spec).includes(
          '4318',
        ),
      )
    expect(collector(small)).toEqual([])
    expect(collector(cloud)).toEqual(names)
    const settings = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' }
    expect(collector({ ...small, services: { 'event-writer': { settings } } })).toEqual(['event-writer'])
  })
  it('lets only services that send to others reach the internet, and never the networks of the cluster', () => {
    const internet = processes.filter(({ name }) => egressPorts(name).includes(587)).map(({ name }) => name)
    expect(internet).toEqual([
      'admin-api',
      'postback-forwarder',
      'postback-gateway',
      'postback-writer',
      'receipt-validator',
    ])
    const { egress } = find(policies, 'NetworkPolicy', 'postback-forwarder').spec
    expect(egress.at(-1).to[0].ipBlock.except).toEqual(
      expect.arrayContaining(['10.0.0.0/8', '169.254.0.0/16', '192.168.0.0/16']),
    )
  })
  it('lets the load balancer in at services with routes, and the reader of metrics at all', () => {
    const from = (name: string) => JSON.stringify(find(policies, 'NetworkPolicy', name).spec.ingress)
    for (const name of names) {
      expect(from(name).includes('load-balancer'), name).toBe(withRoutes.includes(name))
      expect(from(name), name).toContain('monitoring')
    }
    expect(find(policies, 'NetworkPolicy', 'migrate').spec.ingress).toEqual([])
  })
})

describe('the load balancer', () => {
  const configOf = (values: object) =>
    find(render(values as never), 'ConfigMap', 'load-balancer').data?.['haproxy.cfg'] ?? ''
  it('knows each service with routes by its headless Service, and asks the name server of its pod', () => {
    const hosts = [...configOf(small).matchAll(/server-template \w+ \d+ (\S+)/g)].map(([, host]) => host)
    expect(hosts.sort()).toEqual(withRoutes.map((name) => `tributary-${name}.tributary.svc.cluster.local:8080`))
    expect(configOf(small)).toContain('parse-resolv-conf')
    for (const name of withRoutes) expect(find(rendered, 'Service', name).spec.clusterIP).toBe('None')
  })
  it('believes no client about its address; behind a proxy it adds to what that one wrote', () => {
    expect(configOf(small)).not.toContain('add-header X-Forwarded-For')
    expect(configOf(cloud)).not.toContain('set-header X-Forwarded-For')
    expect(() => render({ ...cloud, loadBalancer: {} })).toThrow('behindProxy')
  })
})

describe('values that would go wrong in silence are refused', () => {
  it.each([
    [
      'a setting that no service declares',
      { settings: { ...small.settings, TRIBUTARY_KAFKA_BROKER: 'kafka:9092' } },
      'TRIBUTARY_KAFKA_BROKER is no setting',
    ],
    ['a secret', { settings: { ...small.settings, TRIBUTARY_MASTER_KEY: 'x' } }, 'put it into a Secret'],
    [
      'a secret of one service',
      { ...small, services: { 'event-writer': { settings: { TRIBUTARY_POSTGRES_URL: 'x' } } } },
      'put it into a Secret',
    ],
    [
      'a secret in the environment beside settings',
      { ...small, services: { 'event-writer': { extraEnv: { TRIBUTARY_POSTGRES_URL: 'x' } } } },
      'services/event-writer',
    ],
    [
      'the key of the collector',
      { settings: { ...small.settings, OTEL_EXPORTER_OTLP_HEADERS: 'x' } },
      'put it into a Secret',
    ],
    [
      'a number, which Helm would write as 1.34217728e+08',
      { settings: { ...small.settings, TRIBUTARY_BODY_BYTES_IN_FLIGHT_MAX: 134217728 } },
      'must be string',
    ],
    [
      'a service that is not there',
      { ...small, services: { 'event-writter': {} } },
      'there is no service event-writter',
    ],
    ['no brokers', { settings: { TRIBUTARY_S3_BUCKET: 'tributary' } }, 'needs TRIBUTARY_KAFKA_BROKERS'],
    [
      'less time to end than a service takes',
      { ...small, defaults: { terminationGracePeriodSeconds: 20 } },
      'must be >= 25',
    ],
    ['a field that the chart does not read', { ...small, replicas: 3 }, 'must NOT have additional properties'],
  ])('%s', (_what, values, message) => {
    expect(() => render(values)).toThrow(message)
  })
})
