import { day_ms } from '@tributary/contracts/limits'
import { lacking, type Money, usd } from './counted.ts'
import { correctedTime, type DecidedInstall, type Rate, type SentEvent } from './history.ts'
import { type ExpectedReport, grouped, inside, isLabelled, keyOfPeriod, passes, type Question } from './question.ts'

type Installs = ReadonlyMap<string, DecidedInstall>

const installsOf = (installs: Installs, question: Question): DecidedInstall[] =>
  [...installs.values()].filter(
    ({ installed_at_ms, partner, attribution_type, ...one }) =>
      inside(question, installed_at_ms) &&
      passes(question.partner, partner) &&
      passes(question.attribution_type, attribution_type) &&
      isLabelled(question, one),
  )

/** docs/rules.md#attribution-report */
export function attributionReport(installs: Installs, question: Question): ExpectedReport {
  const keyOf = (i: DecidedInstall) => [keyOfPeriod(question, i.installed_at_ms), i.partner, i.attribution_type]
  const rows = grouped(installsOf(installs, question), keyOf).map(([key, group]) => {
    const [day = '', partner = '', attribution_type = ''] = key
    const fresh = group.filter(({ reinstall }) => !reinstall)
    return {
      ...{ day, partner, attribution_type, installs: fresh.length },
      organic: fresh.filter((install) => install.attribution_type === 'organic').length,
      reinstalls: group.length - fresh.length,
      fraud_flagged: fresh.filter(({ flagged }) => flagged).length,
    }
  })
  return { rows, missing_rates: [] }
}

/** docs/rules.md#cohorts-report */
export function cohortsReport(events: readonly SentEvent[], installs: Installs, question: Question): ExpectedReport {
  const fresh = installsOf(installs, question).filter(({ reinstall }) => !reinstall)
  const rows = grouped(fresh, (one) => [keyOfPeriod(question, one.installed_at_ms)]).map(([[day = ''], group]) => {
    const retained = (n: number) =>
      group.filter(({ install_uuid, installed_at_ms }) => {
        const since_ms = installed_at_ms + n * day_ms
        const until_ms = since_ms + day_ms
        return events.some((e) => e.install_uuid === install_uuid && inside({ since_ms, until_ms }, correctedTime(e)))
      }).length
    const columns = new Set([1, 7, 30, ...(question.days ?? [])])
    // The install event is on day 0, whatever the clock of its device said.
    const counts = [...columns].map((n) => [n, n === 0 ? group.length : retained(n)] as const)
    return {
      ...{ day, installs: group.length },
      ...Object.fromEntries(counts.map(([n, count]) => [`d${n}`, count])),
      ...Object.fromEntries(
        counts.map(([n, count]) => [`d${n}_rate`, Math.round((count / group.length) * 10_000) / 10_000]),
      ),
    }
  })
  return { rows, missing_rates: [] }
}

/** docs/rules.md#ltv-report */
export function ltvReport(
  money: readonly Money[],
  installs: Installs,
  rates: readonly Rate[],
  question: Question,
): ExpectedReport {
  const fresh = installsOf(installs, question).filter(({ reinstall }) => !reinstall)
  const since = (event: Money) => correctedTime(event) - installs.get(event.install_uuid)!.installed_at_ms
  const paidBy = (group: readonly DecidedInstall[]) => {
    const ids = new Set(group.map(({ install_uuid }) => install_uuid))
    return money.filter((event) => ids.has(event.install_uuid) && since(event) >= 0)
  }
  const keyOf = (one: DecidedInstall) => [keyOfPeriod(question, one.installed_at_ms), one.partner]
  const rows = grouped(fresh, keyOf).map(([[day = '', partner = ''], group]) => {
    const paid = paidBy(group)
    const columns = (question.days ?? [0, 7, 30]).map((n) => {
      const until = paid.filter((event) => since(event) < (n + 1) * day_ms)
      return { [`d${n}_revenue_usd`]: usd(until, rates), [`d${n}_arpi_usd`]: usd(until, rates, group.length) }
    })
    return { day, partner, installs: group.length, revenue_usd: usd(paid, rates), ...Object.assign({}, ...columns) }
  })
  return { rows, missing_rates: lacking(paidBy(fresh), rates) }
}
