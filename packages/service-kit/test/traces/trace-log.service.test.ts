import { limits } from '@tributary/contracts/limits'
import { deadLetterTopic } from '@tributary/contracts/topics'
import { traceBroker } from '@tributary/service-kit/traces/trace-log'
import type { Traces } from '@tributary/service-kit/traces/traces'
import { memoryBroker } from '@tributary/testing/twins/memory-broker'
import { expect, it, onTestFinished } from 'vitest'
import { allDone, letter, now, reader, start, topic, until } from '../consumer/letters.ts'
import { openTestTraces, traceOf } from './test-traces.ts'

async function tracedLog(settings: Record<string, string> = { OTEL_TRACES_SAMPLER: 'always_on' }) {
  const opened = await openTestTraces(settings)
  const memory = memoryBroker(1, now)
  await memory.applyTopics([topic, deadLetterTopic(topic)])
  const broker = traceBroker(memory, opened.traces)
  const headersIn = (name: string) => memory.records(name, 0).map(({ headers }) => headers.traceparent ?? '')
  const read = async (handle: Parameters<typeof reader>[0] = () => {}) => {
    const { running } = start(broker, { consumer: reader(handle), traces: opened.traces })
    onTestFinished(async () => (await running).close())
    await until(allDone(memory), 'all read')
  }
  return { ...opened, broker, headersIn, read }
}

/** Runs `work` as a request does. */
async function inRequest(traces: Traces, work: () => Promise<void>) {
  const span = traces.begin({ name: 'request', kind: 'server' })
  await (span === null ? work() : traces.within(span, work))
  span?.end({})
}

const namedLetter = (text: string, traceparent: string) => ({ ...letter(text), headers: { traceparent } })

it('a record names the trace of its request, and the batch that holds it goes on with that trace', async () => {
  const { traces, broker, headersIn, read, sent } = await tracedLog()
  await inRequest(traces, () => broker.publish([letter('a'), letter('b')]))
  await broker.publish([letter('of no request')])
  await read(() => broker.publish([{ ...letter('found'), topic: deadLetterTopic(topic).name }]))
  const spans = await sent()
  const [request, send, batch, sentOn] = ['request', `send ${topic.name}`, `process ${topic.name}`, /dead$/].map(
    (name) => spans.find((span) => (typeof name === 'string' ? span.name === name : name.test(span.name))),
  )
  expect([send!.parent_id, batch!.parent_id, sentOn!.parent_id]).toEqual([
    request!.span_id,
    send!.span_id,
    batch!.span_id,
  ])
  const named = `00-${request!.trace_id}-${send!.span_id}-01`
  expect(headersIn(topic.name)).toEqual([named, named, ''])
})

it('a request that is not recorded leaves no header, and its batch no span', async () => {
  const { traces, broker, headersIn, read, sent } = await tracedLog({ OTEL_TRACES_SAMPLER: 'always_off' })
  await inRequest(traces, () => broker.publish([letter('a')]))
  await read()
  expect(headersIn(topic.name)).toEqual([''])
  expect(await sent()).toEqual([])
})

it('a batch of many traces belongs to the first and links others, so many and no more', async () => {
  const { broker, read, sent } = await tracedLog()
  const traceparents = Array.from({ length: 50 }, (_, n) =>
    traceOf('0').replaceAll('0000000000000000', String(n + 10).repeat(8)),
  )
  await broker.publish(traceparents.map((traceparent, n) => namedLetter(String(n), traceparent)))
  await read()
  const [batch] = await sent()
  expect(batch).toMatchObject({ name: `process ${topic.name}`, trace_id: traceparents[0]!.slice(3, 35) })
  expect(batch!.links).toEqual(traceparents.slice(1, limits.trace_links_max + 1).map((one) => one.slice(3, 35)))
})

it('a record with any text as its trace is handled as all others, and keeps it when it dies', async () => {
  const { broker, headersIn, read, sent } = await tracedLog()
  const texts = ['', 'x', traceOf('g'), traceOf('0'), `${traceOf('a')}-more`, traceOf('a', false), 'a'.repeat(10_000)]
  await broker.publish(texts.map((text) => namedLetter('!unreadable', text)))
  const letters: string[] = []
  await broker.publish([namedLetter('good', traceOf('a'))])
  await read((batch) => void letters.push(...batch.records.map(({ value }) => value)))
  expect(letters).toEqual(['good'])
  expect(headersIn(deadLetterTopic(topic).name)).toEqual(texts)
  await sent()
})

it('a batch whose first record names a trace that cannot be read, or is not recorded, belongs to the next one', async () => {
  const { broker, read, sent } = await tracedLog()
  const texts = [`01${traceOf('a').slice(2)}-more`, traceOf('b', false), traceOf('c'), traceOf('d')]
  await broker.publish(texts.map((text) => namedLetter(text, text)))
  await read()
  const [batch] = await sent()
  expect(batch).toMatchObject({ trace_id: 'c'.repeat(32), links: ['d'.repeat(32)] })
})

it('a batch that fails again and again is one span, which ends when it is done', async () => {
  const { broker, read, sent } = await tracedLog()
  await broker.publish([namedLetter('a', traceOf('a'))])
  let tries = 0
  await read(() => {
    tries += 1
    if (tries < 4) throw new Error('away')
  })
  expect((await sent()).map(({ name, failed }) => [name, failed])).toEqual([[`process ${topic.name}`, false]])
})
