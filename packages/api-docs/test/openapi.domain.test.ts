import { planQuota } from '@tributary/contracts/admin/companies'
import { errorCatalogue, type Surface } from '@tributary/contracts/errors'
import { ownColumns } from '@tributary/contracts/event-fields'
import { limits } from '@tributary/contracts/limits'
import { describe, expect, it } from 'vitest'
import { codesOf, createChecker, document, operations, readDoc } from './document.ts'

const surfaceOf = (route: string): Surface => {
  if (route.includes('/s2s/') || route === 'PUT /api/v1/costs') return 's2s'
  if (route.includes('/api/v1/') && !route.includes('/admin/')) return 'reports'
  if (route.includes(' /l/')) return 'links'
  if (/-postback$|report-attribution| \/store\//.test(route)) return 'postbacks'
  return route.includes('/admin/') ? 'admin' : 'sdk'
}
const keyed = operations.filter(({ tags }) => tags[0] !== 'Service')

describe('docs/openapi.json', () => {
  it('names each code of the catalogue, with its status, on its surfaces and on no other', () => {
    const documented = new Set(
      keyed.flatMap(({ route, responses }) =>
        Object.entries(responses).flatMap(([status, response]) =>
          codesOf(response).map((code) => `${surfaceOf(route)} ${status} ${code}`),
        ),
      ),
    )
    const everywhere = Object.values(document.components.responses).flatMap(codesOf)
    const surfaces = ['sdk', 's2s', 'reports', 'admin', 'links', 'postbacks'] as const
    const expected = errorCatalogue.flatMap(({ code, status, surfaces: of }) => {
      const spread = of.some((surface) => surface === 'any')
      if (spread && everywhere.includes(code)) return []
      return (spread ? surfaces : of).map((surface) => `${surface} ${status} ${code}`)
    })
    const unexpected = [...documented].filter((one) => !/ (not_found|method_not_allowed)$/.test(one))
    expect(unexpected.toSorted()).toEqual(expected.toSorted())
  })

  it('says what every code means', () => {
    for (const { code } of errorCatalogue) expect(document.info.description).toMatch(new RegExp(`\`${code}\` .*[a-z]`))
    expect(JSON.stringify(document)).not.toContain('undefined')
  })

  it('gives examples that its own schemas allow', () => {
    const check = createChecker(true)
    const contents = operations.flatMap(({ route, requestBody, responses }) => [
      ...(requestBody ? [[`${route} body`, requestBody.content] as const] : []),
      ...Object.entries(responses).map(([status, { content = {} }]) => [`${route} ${status}`, content] as const),
    ])
    const wrong = contents.flatMap(([where, content]) =>
      Object.values(content).flatMap(({ schema, examples = {} }) =>
        Object.entries(examples).flatMap(([name, { value }]) => {
          const fault = check(schema, value)
          return fault === null ? [] : [`${where} ${name}: ${fault}`]
        }),
      ),
    )
    expect(wrong).toEqual([])
    const parameters = operations.flatMap((operation) => operation.parameters).filter(({ example }) => example)
    for (const { schema, example } of parameters) expect(check(schema ?? {}, example)).toBe(null)
  })

  it('has each example of a signed batch, and those agree on headers and variables', () => {
    const samples = document.paths['/event']?.post?.['x-codeSamples'] ?? []
    expect(samples.map(({ label }) => label)).toEqual([
      ...['curl', 'TypeScript', 'Python', 'Go', 'Kotlin', 'Swift', 'C#'],
    ])
    const { company_key, app_key, signature } = document.components.securitySchemes
    const headers = ['X-Service-Sdk', ...[company_key, app_key, signature].map((scheme) => scheme?.name)]
    for (const { label, source } of samples) {
      const named = [...new Set(source.match(/X-[A-Za-z-]+/g))].toSorted()
      expect({ label, named }).toEqual({ label, named: headers.toSorted() })
      for (const variable of ['TRIBUTARY_URL', 'COMPANY_KEY', 'APP_KEY', 'SIGNING_SECRET'])
        expect(source).toContain(variable)
    }
  })
})

describe('the limits of docs/api.md', () => {
  const guide = readDoc('api.md')
  const documented = Object.fromEntries(
    [...guide.matchAll(/^\| (.+?) +\| (.+?) +\|$/gm)].map(([, what = '', value = '']) => [what, value]),
  )
  const namesOf = (kind: 'text' | 'object') =>
    ownColumns(kind)
      .map((name) => `\`${name}\``)
      .join(', ')
  const KiB = 1024
  const MiB = KiB * KiB
  const expected: Record<string, string> = {
    'Events in a batch of `/event`': `1 to ${limits.sdk_batch_events_max}`,
    'Events in a bulk request': `1 to ${limits.bulk_events_max}`,
    'Body of `/event` and `/privacy/delete`': `${limits.sdk_body_bytes_max / MiB} MiB on the wire, ${limits.sdk_inflated_bytes_max / MiB} MiB inflated`,
    'Body of `/s2s/event`': `${limits.s2s_body_bytes_max / KiB} KiB, also inflated`,
    'Body of `/s2s/events/bulk`': `${limits.bulk_body_bytes_max / MiB} MiB, also inflated`,
    '`event_id`': `${limits.event_id_chars_max} visible ASCII characters`,
    '`event_name`': `${limits.event_name_chars_max} characters`,
    '`install_uuid`': `${limits.install_uuid_chars_max} characters`,
    [namesOf('text')]: `${limits.optional_string_chars_max} characters`,
    [namesOf('object')]:
      `${limits.object_json_bytes_max / KiB} KiB of JSON each, ${limits.object_depth_max} levels deep`,
    'All other fields of an event': `${limits.extra_json_bytes_max / KiB} KiB of JSON`,
    '`event_ts_ms`': `${new Date(limits.event_ts_ms_min).getUTCFullYear()} to ${limits.event_ts_ahead_ms_max / 3_600_000} h ahead`,
    'Amount of `revenue`': `${limits.revenue_abs_max}`,
    'Requests of a server key, S2S and reports together': `${limits.key_requests_max} in any ${limits.key_requests_window_ms / 1000} s`,
    'Window of a report': `${limits.report_window_days_max} days`,
    'Rows of a report page': `1 to ${limits.report_limit_max}, ${limits.report_limit_default} by default`,
    'Reports of a server key at once': `${limits.key_reports_running_max} run, ${limits.key_reports_waiting_max} wait`,
    'Reports of a company at once': `${limits.company_reports_running_max} run`,
    'Time of a report': `${limits.report_wait_ms_max / 1000} s waiting, ${limits.report_run_ms_max / 1000} s running`,
    'Values of a filter': `${limits.report_filter_values_max}`,
    'Headers of a request': `${limits.header_bytes_max / KiB} KiB`,
    'Time for a request to arrive': `${limits.request_wait_ms_max / 1000} s, its headers ${limits.headers_wait_ms_max / 1000} s`,
  }

  it('are those of the code', () => {
    expect(documented).toMatchObject(expected)
    const { embedded_reports_running_max, reports_running_max } = limits
    expect(guide).toContain(`${embedded_reports_running_max} reports in standalone, ${reports_running_max} in a`)
    for (const quota of Object.values(planQuota)) if (quota !== null) expect(guide).toContain(String(quota))
  })
})
