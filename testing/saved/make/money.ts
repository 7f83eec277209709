import { day_ms, hour_ms, minute_ms, writeStory } from './story.ts'

const may = Date.UTC(2031, 4, 1)
const rates = `Date,USD,JPY,GBP,
2031-05-06,1.2500,160.00,0.8000,
2031-05-05,1.2000,150.00,N/A,
2031-05-02,1.1000,140.00,0.9000,
`

/** Amounts, currencies, refunds, and the claims on transactions. */
export function money() {
  const story = writeStory('2031-05-06T09:00:00.000Z')
  story.company('shop')
  story.app('run', 'shop')
  story.app('walk', 'shop')
  story.link('acme', 'run')
  story.click('acme', { keep_click: 'tap' })
  story.settle()
  story.install('run', 'ann', { props: { install_referrer: 'utm_source=acme&tb_click={{tap}}' } })
  for (const name of ['bob', 'cid', 'dan']) story.install('run', name)
  story.settle()
  const pay = (event_id: string, revenue: number | undefined, more: object = {}) => ({
    ...{ event_id, event_name: 'purchase', install_uuid: 'ann', event_ts_ms: may + 5 * day_ms, revenue, ...more },
  })
  story.batch('run', [
    pay('1', 4.99),
    pay('2', 0.1, { currency: 'eur' }),
    pay('3', 1_234_567.891_234_9, { currency: 'JPY' }),
    pay('4', 2, { currency: 'CHF', event_ts_ms: may + 4 * day_ms }),
    pay('5', 3, { currency: 'GBP', event_ts_ms: may + 4 * day_ms }),
    pay('6', 5, { currency: 'EUR', event_ts_ms: may + 2 * day_ms }),
    pay('7', 5, { currency: 'EUR', event_ts_ms: may - day_ms }),
    pay('8', 0),
    pay('9', -2),
    pay('10', 0.000_000_4),
    pay('11', 0.00005),
    pay('12', 1e9),
    pay('13', undefined, { transaction_id: 'free' }),
    pay('14', 1.5, { event_name: 'purchase_refunded' }),
    pay('15', -1.5, { event_name: 'subscription_refunded', currency: 'EUR' }),
    pay('16', 8, { event_name: 'ad_shown', currency: 'XAU' }),
    pay('17', 0.333_333, { install_uuid: 'bob' }),
    pay('18', 0.333_333, { install_uuid: 'cid' }),
    pay('19', 1, { install_uuid: 'bob', event_name: 'refunded_only', event_ts_ms: may + 3 * day_ms }),
    // Amounts that meet the edge of the last place that a report shows.
    pay('21', 0.00785, { event_name: 'edge' }),
    pay('22', 0.03165, { event_name: 'other_edge' }),
    pay('20', 1, { install_uuid: 'stranger', currency: 'EUR' }),
  ])
  story.settle()
  const window = { key: 'run.key', since_ms: may - 3 * day_ms, until_ms: may + 8 * day_ms }
  story.ask({ ...window, reports: ['revenue', 'events', 'ltv'], few: true })
  story.admin('POST /fx-rates', rates)
  story.ask({ ...window, reports: ['revenue', 'events', 'ltv'], few: true })
  // An app claims, then a backend; then another backend, then the app again.
  const claim = (transaction_id: string, event_id: string, revenue: number, more = {}) =>
    pay(event_id, revenue, { transaction_id, ...more })
  for (const t of ['t1', 't2']) story.batch('run', [claim(t, `${t}-sdk`, 10)])
  story.settle()
  story.event('run.key', claim('t1', 't1-s2s', 20))
  story.bulk('run.key', [claim('t1', 't1-bulk', 30), claim('t2', 't2-bulk', 40)])
  story.batch('run', [claim('t1', 't1-late', 50)])
  story.event('run.key', claim('t3', 't3-s2s', 1, { install_uuid: 'bob' }))
  story.settle()
  story.event('run.key', claim('t3', 't3-other', 2, { install_uuid: 'cid' }))
  story.event('run.key', claim('t3', 't3-name', 4, { event_name: 'subscription_renewed' }))
  story.event('walk.key', claim('t3', 't3-app', 8))
  story.batch('run', [claim('t4', 'a', 1), claim('t4', 'b', 2), claim('t4', 'c', 4)])
  story.event('run.key', claim('t5', 'no_money', undefined as never))
  story.event('run.key', claim('t5', 'money', 16))
  story.event('run.key', claim('t5', 'refund', 16, { event_name: 'purchase_refunded' }))
  story.event('run.key', claim('t5', 'refund_again', 16, { event_name: 'purchase_refunded' }))
  story.bulk('run.key', [
    claim('t6', 'e1', 3, { event_ts_ms: may + hour_ms }),
    claim('t6', 'e2', 5, { event_ts_ms: may + 6 * day_ms }),
  ])
  story.event('run.key', claim('t6', 'e0', 7, { event_ts_ms: may - day_ms }))
  story.event('run.key', pay('late', 6, { install_uuid: 'dan', event_ts_ms: may + 5 * day_ms + 8 * hour_ms }))
  story.jobs()
  story.wait(2 * minute_ms)
  story.jobs()
  story.ask({
    ...{ ...window, partners: ['acme', 'organic'], event_names: ['purchase', 'purchase_refunded'] },
    ...{
      windows: [
        [may + 5 * day_ms, may + 5 * day_ms + 1],
        [may - day_ms, may + 4 * day_ms + 1],
      ],
    },
  })
  story.ask({ key: 'walk.key', since_ms: may, until_ms: may + 8 * day_ms, reports: ['revenue', 'events'], few: true })
  return story.steps
}

/** Figures of closed days are stored, and then everything that may change them happens. */
export function settled() {
  const story = writeStory('2031-06-02T10:00:00.000Z')
  const june = Date.UTC(2031, 5, 1)
  story.company('shop')
  story.app('run', 'shop')
  story.link('acme', 'run')
  story.link('zeta', 'run', { partner: 'zeta', campaign: 'summer' })
  story.admin('POST /fx-rates', 'Date,USD\n2031-06-01,1.1\n')
  const people = Array.from({ length: 12 }, (_, n) => `p${n}`)
  for (const n of people.keys()) {
    if (n % 3 < 2) story.click(n % 3 === 0 ? 'acme' : 'zeta', { keep_click: `tap${n}`, ip: `198.51.100.${n + 10}` })
  }
  story.settle()
  for (const [n, name] of people.entries()) {
    story.wait(2 * hour_ms)
    const props = n % 3 < 2 ? { install_referrer: `tb_click={{tap${n}}}` } : {}
    story.install('run', name, { props, user_id: n === 5 ? 'user' : undefined })
  }
  for (let day = 0; day < 8; day += 1) {
    story.until(new Date(june + (day + 3) * day_ms + 9 * hour_ms).toISOString())
    for (const [n, name] of people.entries()) {
      if ((n + day) % 3 === 0)
        story.event('run.key', { event_id: `o${day}`, event_name: 'app_open', install_uuid: name })
      if ((n * day) % 5 === 1)
        story.event('run.key', {
          event_id: `m${day}`,
          event_name: 'purchase',
          install_uuid: name,
          revenue: n + day / 4,
          currency: n % 2 ? 'EUR' : undefined,
          transaction_id: `t${n}-${day}`,
        })
    }
  }
  story.settle()
  const window = { key: 'run.key', since_ms: june, until_ms: june + 40 * day_ms }
  const few = () => story.ask({ ...window, reports: ['attribution', 'revenue', 'cohorts', 'ltv', 'events'], few: true })
  few()
  story.figures()
  few()
  story.figures()
  const late = june + 4 * day_ms + hour_ms
  story.event('run.key', {
    event_id: 'late',
    event_name: 'purchase',
    install_uuid: 'p1',
    event_ts_ms: late,
    revenue: 100,
  })
  story.event('run.key', { event_id: 'late', event_name: 'app_open', install_uuid: 'p2', event_ts_ms: late + 1 })
  story.batch('run', [
    {
      event_id: 'beaten',
      event_name: 'purchase',
      install_uuid: 'p3',
      event_ts_ms: late,
      revenue: 3,
      transaction_id: 't1-1',
    },
  ])
  story.event('run.key', {
    event_id: 'refund',
    event_name: 'purchase_refunded',
    install_uuid: 'p1',
    event_ts_ms: late,
    revenue: 40,
  })
  story.jobs()
  few()
  story.event('run.key', {
    event_id: 'i',
    event_name: 'app_install',
    install_uuid: 'late_install',
    event_ts_ms: june + day_ms + 5 * hour_ms,
    user_id: 'user',
  })
  story.event('run.key', {
    event_id: 'yen',
    event_name: 'purchase',
    install_uuid: 'p4',
    event_ts_ms: late,
    revenue: 1000,
    currency: 'JPY',
  })
  story.settle()
  story.figures()
  few()
  story.admin('POST /fx-rates', 'Date,USD,JPY\n2031-06-01,1.3,130\n2031-06-05,1.5,150\n')
  story.admin('POST /erasures', { app_id: '{{run.app_id}}', install_uuid: 'p0' })
  story.wait(day_ms)
  story.erase()
  story.settle()
  few()
  story.figures()
  story.restart()
  story.event('run.key', {
    event_id: 'last',
    event_name: 'purchase',
    install_uuid: 'p6',
    event_ts_ms: late + day_ms,
    revenue: 0.0001,
  })
  story.settle()
  story.ask({
    ...{ ...window, partners: ['acme', 'zeta', 'organic'], event_names: ['purchase', 'app_open'] },
    ...{
      windows: [
        [june + day_ms + 12 * hour_ms, june + 9 * day_ms + 1],
        [late, late + 1],
      ],
      installs: ['p0', 'p1', 'p5', 'late_install'],
    },
  })
  return story.steps
}
