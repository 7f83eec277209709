/** A panel: what it shows, in which unit of Grafana, and its queries with their legends. */
export interface Panel {
  title: string
  /** Says what the panel shows, and which values are unusual. */
  meaning: string
  unit: 'reqps' | 'ops' | 'percentunit' | 's' | 'short' | 'bytes' | 'decbytes'
  kind?: 'timeseries' | 'stat'
  queries: [expr: string, legend: string][]
}
export interface Dashboard {
  title: string
  /** Name of its file and its address in Grafana. */
  uid: string
  panels: Panel[]
}

const quantile = (share: number, metric: string, by: string) =>
  `histogram_quantile(${share}, sum by (le, ${by}) (rate(${metric}_bucket[$__rate_interval])))`
const rate = (metric: string, by: string) => `sum by (${by}) (rate(${metric}[$__rate_interval]))`

/** Questions of an operator, in the order in which he asks them. `npm run dump` makes infra/grafana/*.json of them. */
export const dashboards: Dashboard[] = [
  {
    title: 'Accepting?',
    uid: 'tributary-accepting',
    panels: [
      {
        title: 'Requests by code',
        meaning: 'ok is accepted. unavailable and audit_write_failed are ours; other codes are mistakes of clients.',
        unit: 'reqps',
        queries: [[rate('tributary_ingest_requests_total', 'code'), '{{code}}']],
      },
      {
        title: 'Share of requests that we refuse',
        meaning: 'Answers 500 and 503 among all. An alert fires where 1 % of a route are `unavailable`.',
        unit: 'percentunit',
        kind: 'stat',
        queries: [
          [
            'sum(rate(tributary_ingest_requests_total{code=~"unavailable|audit_write_failed|internal_error"}[$__rate_interval])) / sum(rate(tributary_ingest_requests_total[$__rate_interval]))',
            'refused',
          ],
        ],
      },
      {
        title: 'Events accepted and rejected',
        meaning: 'Items of requests. Rejected ones carry their reason.',
        unit: 'ops',
        queries: [[rate('tributary_ingest_events_total', 'status, reason'), '{{status}} {{reason}}']],
      },
      {
        title: 'Time to the answer, p50 and p99',
        meaning: 'Until the audit store and the log hold the request.',
        unit: 's',
        queries: [
          [quantile(0.5, 'tributary_ingest_request_seconds', 'route'), 'p50 {{route}}'],
          [quantile(0.99, 'tributary_ingest_request_seconds', 'route'), 'p99 {{route}}'],
        ],
      },
      {
        title: 'Processes that answer',
        meaning: 'A service with none is away.',
        unit: 'short',
        queries: [['sum by (service) (up{job="tributary"})', '{{service}}']],
      },
      {
        title: 'Ready replicas at the load balancer',
        meaning: 'Replicas whose /ready answers 200.',
        unit: 'short',
        queries: [['max by (proxy) (haproxy_backend_active_servers)', '{{proxy}}']],
      },
      {
        title: 'Refused as overload',
        meaning: 'Too many requests or bytes in progress: add gateways.',
        unit: 'reqps',
        queries: [[rate('tributary_ingest_overload_total', 'what'), '{{what}}']],
      },
      {
        title: 'Look-ups that failed',
        meaning: 'PostgreSQL did not answer; stale answers came from memory.',
        unit: 'ops',
        queries: [
          [
            'sum by (result) (rate(tributary_credentials_loads_total{result!="query"}[$__rate_interval]))',
            'keys {{result}}',
          ],
          [
            'sum by (result) (rate(tributary_links_loads_total{result!="query"}[$__rate_interval]))',
            'links {{result}}',
          ],
        ],
      },
    ],
  },
  {
    title: 'Fresh?',
    uid: 'tributary-fresh',
    panels: [
      {
        title: 'Age of the oldest unfinished record',
        meaning: 'How far reports are behind. Seconds are usual.',
        unit: 's',
        queries: [['max by (consumer) (tributary_consumer_oldest_unwritten_seconds)', '{{consumer}}']],
      },
      {
        title: 'Records behind',
        meaning: 'Grows while more comes than is written.',
        unit: 'short',
        queries: [['sum by (consumer) (tributary_consumer_lag_records)', '{{consumer}}']],
      },
      {
        title: 'Records taken from the log',
        meaning: 'A consumer at 0 beside a lag stands.',
        unit: 'ops',
        queries: [[rate('tributary_consumer_received_total', 'consumer'), '{{consumer}}']],
      },
      {
        title: 'Tries that were repeated',
        meaning: 'A dependency is away at this step.',
        unit: 'ops',
        queries: [[rate('tributary_consumer_failures_total', 'consumer, step'), '{{consumer}} {{step}}']],
      },
      {
        title: 'Time of a batch, p99',
        meaning: 'From its start to its commit.',
        unit: 's',
        queries: [[quantile(0.99, 'tributary_consumer_batch_seconds', 'consumer'), '{{consumer}}']],
      },
      {
        title: 'Install to verdict, p50 and p99',
        meaning: 'From the receipt of an install to its first row.',
        unit: 's',
        queries: [
          [
            'histogram_quantile(0.5, sum by (le) (rate(tributary_install_attributed_seconds_bucket[$__rate_interval])))',
            'p50',
          ],
          [
            'histogram_quantile(0.99, sum by (le) (rate(tributary_install_attributed_seconds_bucket[$__rate_interval])))',
            'p99',
          ],
        ],
      },
      {
        title: 'What waits for somebody else',
        meaning: 'Age of the oldest re-decision, receipt, postback to a partner and request for erasure.',
        unit: 's',
        queries: [
          ['max(tributary_redecisions_oldest_seconds)', 're-decision'],
          ['max(tributary_receipts_due_oldest_seconds)', 'receipt'],
          ['max(tributary_partner_due_oldest_seconds)', 'partner postback'],
          ['max(tributary_erasure_oldest_queued_seconds)', 'erasure'],
        ],
      },
      {
        title: 'Time of reports, p50 and p99',
        meaning: 'Waiting included.',
        unit: 's',
        queries: [
          [quantile(0.5, 'tributary_report_seconds', 'report'), 'p50 {{report}}'],
          [quantile(0.99, 'tributary_report_seconds', 'report'), 'p99 {{report}}'],
        ],
      },
    ],
  },
  {
    title: 'Exact?',
    uid: 'tributary-exact',
    panels: [
      {
        title: 'Differences between the stores',
        meaning: 'What reconciliation found. Anything but 0 is a fault.',
        unit: 'short',
        kind: 'stat',
        queries: [['max by (store) (tributary_reconcile_differences)', '{{store}}']],
      },
      {
        title: 'How old the comparison is',
        meaning: 'Time since the end of the newest hour that was compared.',
        unit: 's',
        kind: 'stat',
        queries: [['max(tributary_reconcile_behind_seconds)', 'behind']],
      },
      {
        title: 'Dead letters of a day',
        meaning: 'Records that count nowhere until they are retried.',
        unit: 'short',
        queries: [
          ['sum by (consumer, reason) (increase(tributary_consumer_dead_total[1d]))', '{{consumer}} {{reason}}'],
        ],
      },
      {
        title: 'Records that the log dropped unread',
        meaning: 'Must stay 0.',
        unit: 'short',
        kind: 'stat',
        queries: [['sum(increase(tributary_consumer_lost_total[7d]))', 'lost']],
      },
      {
        title: 'Misfits of log, offsets and tables',
        meaning: 'After a restore or a reset of offsets.',
        unit: 'short',
        queries: [
          ['sum by (consumer, reason) (increase(tributary_consumer_misfits_total[1d]))', '{{consumer}} {{reason}}'],
        ],
      },
      {
        title: 'Left out on purpose',
        meaning:
          'Duplicates and erased events. A jump of duplicates is a client that sends again, or somebody with a copy.',
        unit: 'ops',
        queries: [[rate('tributary_consumer_dropped_total', 'consumer, reason'), '{{consumer}} {{reason}}']],
      },
      {
        title: 'Clicks lost, and broken parts',
        meaning: 'Both must stay 0.',
        unit: 'short',
        queries: [
          ['sum(increase(tributary_clicks_lost_total[1d]))', 'clicks lost'],
          ['sum by (table) (increase(tributary_broken_parts_total[1d]))', 'broken {{table}}'],
        ],
      },
      {
        title: 'Money without a rate',
        meaning: 'Reports that left out money of a currency.',
        unit: 'short',
        queries: [['sum by (currency) (increase(tributary_report_missing_rates_total[1d]))', '{{currency}}']],
      },
    ],
  },
  {
    title: 'Who is loud?',
    uid: 'tributary-loud',
    panels: [
      {
        title: 'Requests refused for a limit',
        meaning: 'Monthly quotas and rates of keys.',
        unit: 'reqps',
        queries: [
          ['sum(rate(tributary_quota_refused_total[$__rate_interval]))', 'cap_exceeded'],
          ['sum(rate(tributary_key_rate_refused_total[$__rate_interval]))', 'rate_limited'],
        ],
      },
      {
        title: 'Mistakes of clients',
        meaning: 'Codes that a client has to end: keys, signatures, forms.',
        unit: 'reqps',
        queries: [
          [
            'sum by (route, code) (rate(tributary_ingest_requests_total{code!~"ok|unavailable|audit_write_failed|internal_error"}[$__rate_interval]))',
            '{{route}} {{code}}',
          ],
        ],
      },
      {
        title: 'Bytes of bodies',
        meaning: 'As they come over the wire.',
        unit: 'decbytes',
        queries: [[rate('tributary_ingest_body_bytes_total', 'route'), '{{route}}']],
      },
      {
        title: 'Clicks by what was filtered',
        meaning: 'A jump of one reason is a flood or a bot.',
        unit: 'ops',
        queries: [[rate('tributary_clicks_total', 'filtered_reason'), '{{filtered_reason}}']],
      },
      {
        title: 'Postbacks refused for a budget',
        meaning: 'Somebody floods the receiver.',
        unit: 'ops',
        queries: [[rate('tributary_postbacks_refused_total', 'protocol, budget'), '{{protocol}} {{budget}}']],
      },
      {
        title: 'Reports that run and wait',
        meaning: 'A long line is one key that asks for too much at once.',
        unit: 'short',
        queries: [['sum by (state) (tributary_reports)', '{{state}}']],
      },
      {
        title: 'Reports refused',
        meaning: 'line_full is answered 429, the others 503.',
        unit: 'ops',
        queries: [[rate('tributary_report_refused_total', 'reason'), '{{reason}}']],
      },
      {
        title: 'Partners by their time to answer, p99',
        meaning: 'A slow partner delays its own postbacks alone.',
        unit: 's',
        queries: [[quantile(0.99, 'tributary_partner_try_seconds', 'partner'), '{{partner}}']],
      },
    ],
  },
  {
    title: 'Does it fit?',
    uid: 'tributary-fit',
    panels: [
      {
        title: 'Cores in use',
        meaning: 'One process uses one core and a little.',
        unit: 'short',
        queries: [
          ['sum by (service) (rate(process_cpu_seconds_total{job="tributary"}[$__rate_interval]))', '{{service}}'],
        ],
      },
      {
        title: 'Memory of a process, the largest',
        meaning: 'Against the limit of its container.',
        unit: 'bytes',
        queries: [['max by (service) (process_resident_memory_bytes{job="tributary"})', '{{service}}']],
      },
      {
        title: 'Event loop, p99 of its delay',
        meaning: 'Above 0.1 s a process has too much to do.',
        unit: 's',
        queries: [['max by (service) (nodejs_eventloop_lag_p99_seconds)', '{{service}}']],
      },
      {
        title: 'Requests and bytes in progress',
        meaning: 'Against TRIBUTARY_REQUESTS_IN_FLIGHT_MAX and TRIBUTARY_BODY_BYTES_IN_FLIGHT_MAX.',
        unit: 'short',
        queries: [
          ['max(tributary_ingest_requests_in_flight)', 'requests'],
          ['max(tributary_ingest_body_bytes_in_flight) / 1e6', 'MB'],
        ],
      },
      {
        title: 'Free disk',
        meaning: 'Below a tenth it warns; below 512 MiB events are refused.',
        unit: 'bytes',
        queries: [['min by (instance, folder) (tributary_disk_free_bytes)', '{{instance}} {{folder}}']],
      },
      {
        title: 'Wait of a batch for ClickHouse, p99',
        meaning: 'Look-ups and inserts of the event-writer.',
        unit: 's',
        queries: [[quantile(0.99, 'tributary_event_writer_step_seconds', 'step'), '{{step}}']],
      },
      {
        title: 'Share of time in batches',
        meaning: 'A writer at 1 is full: add one, up to the number of partitions.',
        unit: 'percentunit',
        queries: [
          [
            'sum by (consumer, instance) (rate(tributary_consumer_batch_seconds_sum[$__rate_interval]))',
            '{{consumer}} {{instance}}',
          ],
        ],
      },
      {
        title: 'Runs of jobs that failed',
        meaning: 'By job.',
        unit: 'short',
        queries: [['sum by (job) (increase(tributary_job_runs_total{result="failure"}[1h]))', '{{job}}']],
      },
    ],
  },
]
