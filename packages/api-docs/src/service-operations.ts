import type { Operation } from './operation.ts'

const shared = { method: 'get', tag: 'Service', auth: 'public', errors: [] } as const

/** The routes that every process has. */
export const serviceOperations: readonly Operation[] = [
  {
    ...shared,
    path: '/health',
    id: 'getHealth',
    summary: 'Liveness',
    description: '200 while the process lives, also when something that it depends on is away.',
    answers: {
      200: {
        description: 'The state of the bindings.',
        schema: 'HealthReply',
        example: { status: 'ok', bindings: { database: { status: 'ok', latency_ms: 1 } } },
      },
    },
  },
  {
    ...shared,
    path: '/ready',
    id: 'getReady',
    summary: 'Readiness',
    description: 'For load balancers.',
    answers: {
      200: { description: 'The process can do its work.', schema: 'ReadyReply', example: { ready: true } },
      503: { description: 'Not yet, or it is stopping.', schema: 'ReadyReply', example: { ready: false } },
    },
  },
  {
    ...shared,
    path: '/metrics',
    id: 'getMetrics',
    summary: 'Metrics',
    description: 'In the text format of Prometheus.',
    answers: { 200: { description: 'All metrics.', schema: { type: 'string' }, content_type: 'text/plain' } },
  },
]
