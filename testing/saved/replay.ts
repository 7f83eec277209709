import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { appleAakKeys, appleSkanKeys } from '@tributary/contracts/postback/apple-keys'
import { type AppleTwin, createAppleTwin, development_kid } from '../postback/apple-twin.ts'
import { createNames } from './names.ts'
import { type Product, startProduct } from './product.ts'
import { questionsOf } from './questions.ts'
import { type Sender, send } from './requests.ts'
import type { Answer, SendStep, Step } from './steps.ts'

/** The clock moves by so much from question to question, so that their key is never beyond its rate. */
const question_ms = 100
/** Requests of one step that are under way. */
const at_once = 16
/** A call of an operator that asks to be made again until all is done. */
const again_max = 100
/** Jobs run this often while a run of the eraser is waited for. */
const wake_ms = 300

const fileOf = (folder: 'histories' | 'outcomes', name: string) => join(import.meta.dirname, folder, `${name}.jsonl`)
const readLines = (file: string) =>
  readFileSync(file, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown)
const writeLines = (file: string, lines: readonly unknown[]) =>
  writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''))

export const readHistory = (name: string) => readLines(fileOf('histories', name)) as Step[]
export const writeHistory = (name: string, steps: readonly Step[]) => writeLines(fileOf('histories', name), steps)
export const readOutcome = (name: string) => readLines(fileOf('outcomes', name)) as Answer[]
export const writeOutcome = (name: string, answers: readonly Answer[]) => writeLines(fileOf('outcomes', name), answers)

/** Runs the steps of a history on a new product, and returns what it answered. */
export async function replay(steps: readonly Step[]): Promise<Answer[]> {
  const apple = createAppleTwin()
  const product = await startProduct(Date.parse(steps[0]!.at), keysInstead(apple))
  try {
    const sender: Sender = { url: product.url, names: createNames(), apple }
    const answers: Answer[] = []
    for (const [index, step] of steps.entries()) {
      const found = await take(product, sender, step).catch((cause: unknown) => {
        throw new Error(`step ${index + 1} ${JSON.stringify(step)}: ${(cause as Error).message}`, { cause })
      })
      answers.push(...together(found.map((answer) => ({ step: index + 1, ...answer }))))
    }
    return answers
  } finally {
    await product.close()
  }
}

type Found = Omit<Answer, 'step'>

async function take(product: Product, sender: Sender, step: Step): Promise<Found[]> {
  const at_ms = Date.parse(step.at)
  await product.setClock(at_ms)
  if ('send' in step) return sendAll(product, sender, step, at_ms)
  if ('ask' in step) {
    const found: Found[] = []
    for (const [n, question] of questionsOf(step.ask).entries()) {
      await product.setClock(at_ms + n * question_ms)
      found.push(withoutRate(await send(sender, { ...question, at: step.at }, 0)))
    }
    return found
  }
  if ('settle' in step) await (step.settle === 'jobs' ? product.runJobs() : product.untilWritten())
  if ('restart' in step) await product.restart()
  if ('figures' in step) await untilDone(sender, '/admin/api/v1/settle', () => ({}))
  if ('erase' in step) {
    const waking = setInterval(product.wakeJobs, wake_ms)
    const next = ({ run }: Record<string, unknown>) => ({ run })
    const done = await untilDone(sender, '/admin/api/v1/erasures/run', next).finally(() => clearInterval(waking))
    // Which rows a claim of another partition left in a table may hang on a race; sums and certificates do not.
    const { drained } = done.body as { drained?: number }
    return [{ ...done, body: { drained } }]
  }
  return []
}

async function sendAll(product: Product, sender: Sender, step: SendStep, at_ms: number): Promise<Found[]> {
  const { times = 1, every_ms } = step
  if (times === 1) return [await send(sender, step, 0)]
  const found: Found[] = []
  while (found.length < times) {
    if (every_ms !== undefined) await product.setClock(at_ms + found.length * every_ms)
    const count = every_ms === undefined ? Math.min(at_once, times - found.length) : 1
    found.push(...(await Promise.all(Array.from({ length: count }, (_, n) => send(sender, step, found.length + n)))))
  }
  return found.map(withoutRate)
}

/** Calls an operator's route again until it has done all; returns its last answer. */
async function untilDone(
  sender: Sender,
  path: string,
  next: (last: Record<string, unknown>) => object,
): Promise<Found> {
  let body: object = {}
  for (let call = 0; call < again_max; call += 1) {
    const answer = await send(sender, { at: '', send: `POST ${path}`, body }, 0)
    const last = answer.body as Record<string, unknown>
    if (last.done !== false) return answer
    body = next(last)
  }
  throw new Error(`${path} is never done`)
}

/** What is left of a window of requests tells nothing beside each answer of many. */
function withoutRate({ headers = {}, ...answer }: Found): Found {
  const left = Object.entries(headers).filter(([name]) => !/^(ratelimit|x-service-quota|cache-control)/.test(name))
  return left.length > 0 ? { ...answer, headers: Object.fromEntries(left) } : answer
}

/** One line for equal answers in a row. */
function together(answers: readonly Answer[]): Answer[] {
  const lines: { answer: Answer; text: string; times: number }[] = []
  for (const answer of answers) {
    const text = JSON.stringify({ ...answer, asked: answer.asked.replaceAll(/\d+/g, '') })
    const last = lines.at(-1)
    if (last?.text === text) last.times += 1
    else lines.push({ answer, text, times: 1 })
  }
  return lines.map(({ answer, times }) => (times === 1 ? answer : { ...answer, times }))
}

/** The keys of the twin in the place of Apple's. */
function keysInstead({ keys }: AppleTwin): Record<string, string> {
  const spki = (key: { export(options: { format: 'der'; type: 'spki' }): Buffer } | null | undefined) =>
    key?.export({ format: 'der', type: 'spki' }).toString('base64') ?? ''
  return {
    [appleSkanKeys['skan-p192'].spki]: spki(keys.skan.get('2.0')?.key),
    [appleSkanKeys['skan-p256'].spki]: spki(keys.skan.get('4.0')?.key),
    [appleAakKeys[development_kid]!.spki]: spki(keys.aak.get(development_kid)?.key),
  }
}

/** The first answer that is not as it was saved, with both; null when all are. */
export function firstDifference(saved: readonly Answer[], found: readonly Answer[]): string | null {
  const at = Array.from({ length: Math.max(saved.length, found.length) }, (_, n) => n).find(
    (n) => JSON.stringify(saved[n]) !== JSON.stringify(found[n]),
  )
  if (at === undefined) return null
  const shown = (answer: Answer | undefined) => JSON.stringify(answer, null, 1) ?? 'nothing'
  const { step, asked } = (saved[at] ?? found[at])!
  return `step ${step}: ${asked}\nsaved:\n${shown(saved[at])}\nfound:\n${shown(found[at])}`
}
