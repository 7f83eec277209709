import { z } from 'zod'
import type { Routes } from './route.ts'

/** The things that a process depends on, such as `database` or `queues`. */
export const Bindings = z.record(z.string(), z.object({ status: z.enum(['ok', 'down']), latency_ms: z.number() }))

/** 200 of `/health`: the process lives. */
const HealthReply = z.object({
  status: z.enum(['ok', 'degraded']),
  bindings: Bindings,
  troubles: z
    .array(
      z.object({
        code: z.string(),
        message: z
          .string()
          .optional()
          .describe('For operators: absent behind a proxy, or outside `TRIBUTARY_ADMIN_NETWORKS`.'),
        fix: z.string().optional().describe('How to fix it, with a command where there is one.'),
      }),
    )
    .optional()
    .describe('Faults of the process itself, such as `disk_full`; absent when there is none.'),
})
export type HealthReply = z.infer<typeof HealthReply>

/** 200 and 503 of `/ready`. */
const ReadyReply = z.object({ ready: z.boolean() })

/** The routes that every process has. */
export const healthRoutes = {
  getHealth: {
    method: 'GET',
    path: '/health',
    auth: 'public',
    tag: 'Service',
    summary: 'Liveness',
    description: '200 while the process lives, also when something that it depends on is away.',
    answers: {
      200: {
        description: 'The state of the bindings.',
        schema: { HealthReply },
        example: { status: 'ok', bindings: { database: { status: 'ok', latency_ms: 1 } } } satisfies HealthReply,
      },
    },
  },
  getReady: {
    method: 'GET',
    path: '/ready',
    auth: 'public',
    tag: 'Service',
    summary: 'Readiness',
    description: 'For load balancers.',
    answers: {
      200: { description: 'The process can do its work.', schema: { ReadyReply }, example: { ready: true } },
      503: { description: 'Not yet, or it is stopping.', schema: { ReadyReply }, example: { ready: false } },
    },
  },
  getMetrics: {
    method: 'GET',
    path: '/metrics',
    auth: 'public',
    tag: 'Service',
    summary: 'Metrics',
    description: 'In the text format of Prometheus.',
    inside: true,
    answers: { 200: { description: 'All metrics.', schema: z.string(), content_type: 'text/plain' } },
  },
} satisfies Routes
