import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import {
  type StandaloneProcess,
  startStandaloneProcess,
  waitUntilWritten,
} from '@tributary/testing/standalone/standalone-process'
import { residentMib } from '../fuzz/memory.ts'
import { proxy_address } from './addresses.ts'
import { type Answers, countAnswers } from './answers.ts'
import type { Attack, Target } from './attack.ts'
import { findFaults, type Outcome } from './judge.ts'
import { countEvents } from './reports.ts'
import { makeTenant } from './tenants.ts'
import { startVictim, type Times, type VictimFigures, type VictimStep, victimSteps } from './victim.ts'

export interface AttackResult extends Outcome {
  name: string
  seconds: number
}

interface Options {
  attacks: readonly Attack[]
  /** How long each attack lasts. */
  seconds: number
  log(line: string): void
}

/** How long the victim sends requests before an attack begins. */
const calm_ms = 300
const memory_ms = 50
/** Attacks of this length are compared with a victim that nobody attacks; shorter ones have too few requests for a p99. */
const judged_s_min = 10
/** How much longer an attack waits for an expected answer: slow bodies are tolerated for seconds. */
const expected_ms_max = 90_000

/** Runs attacks one after the other against a new standalone process, and judges each by its effect on the victim. */
export async function runAttacks({ attacks, seconds, log }: Options): Promise<AttackResult[]> {
  const data_dir = mkdtempSync(join(tmpdir(), 'tributary-attack-'))
  const prepared = await Promise.all(attacks.map((attack) => attack.prepare?.(data_dir)))
  const env = Object.assign({ TRIBUTARY_TRUSTED_PROXIES: proxy_address }, ...prepared.map((one) => one?.env))
  const service = await startStandaloneProcess({ data_dir, env })
  try {
    const results: AttackResult[] = []
    for (const attack of attacks) {
      const result = await runAttack(attack, seconds, service, data_dir)
      log(lineOf(result))
      results.push(result)
    }
    return results
  } finally {
    await service.stop('SIGTERM')
    await Promise.all(prepared.map((one) => one?.close()))
    rmSync(data_dir, { recursive: true, force: true })
  }
}

async function runAttack(attack: Attack, seconds: number, service: StandaloneProcess, data_dir: string) {
  const { url } = service
  const token = readFileSync(join(data_dir, 'admin-token'), 'utf8').trim()
  const [tenant, attacker] = await Promise.all([
    makeTenant(url, token, 'Victim'),
    makeTenant(url, token, 'Attacker', attack.monthly_quota),
  ])
  const wanted: Partial<Record<VictimStep, boolean | undefined>> = {
    verdict: attack.waits,
    fresh: attack.waits,
    erased: attack.erases,
    large: attack.large_batches && seconds >= judged_s_min,
  }
  const steps = victimSteps.filter((step) => !(step in wanted) || wanted[step] === true)
  const port = Number(new URL(url).port)
  const at = { url, port, data_dir, seconds }
  const control = seconds < judged_s_min ? null : await controlOf(attack, at, token, steps)
  const answers = countAnswers()
  const printed = service.output().length
  const memory = watchMemory(service.pid)
  const victim = startVictim(url, tenant, steps, token)
  await pause(calm_ms)
  const started_ms = Date.now()
  const signal = endOf(attack, answers, seconds)
  const target = { ...at, attacker, victim: tenant, started_ms, signal, answers }
  let seen: VictimFigures
  try {
    await attack.run(target)
  } finally {
    seen = await victim.end()
  }
  const took_s = Math.round((Date.now() - started_ms) / 100) / 10
  await waitUntilWritten(url, data_dir)
  const faults = (await attack.check?.(target)) ?? []
  const reported = await countEvents(url, tenant)
  const logged = errorLine(service.output().slice(printed))
  const outcome = {
    victim: seen,
    control,
    reported,
    answers: answers.all(),
    memory_mib: memory.end(),
    faults: [...faults, ...logged],
  }
  return { name: attack.name, seconds: took_s, ...outcome, faults: findFaults(attack, outcome) }
}

/** The same customer, as another company, beside ordinary traffic. */
async function controlOf(
  attack: Attack,
  at: Pick<Target, 'url' | 'port' | 'data_dir' | 'seconds'>,
  token: string,
  steps: readonly VictimStep[],
) {
  const { url, data_dir, seconds } = at
  const [tenant, attacker] = await Promise.all([makeTenant(url, token, 'Control'), makeTenant(url, token, 'Ordinary')])
  const victim = startVictim(url, tenant, steps, token)
  const signal = AbortSignal.timeout(seconds * 1000)
  const target = { ...at, attacker, victim: tenant, started_ms: Date.now(), signal, answers: countAnswers() }
  await Promise.all([attack.ordinary?.(target), pause(seconds * 1000)])
  const seen = await victim.end()
  await waitUntilWritten(url, data_dir)
  return seen
}

/** Aborts after the seconds once all expected answers came, at the latest `expected_ms_max` later. */
function endOf({ expected }: Attack, answers: Answers, seconds: number): AbortSignal {
  const end = new AbortController()
  const at_ms = Date.now() + seconds * 1000
  const timer = setInterval(() => {
    const isAnswered = expected.every((name) => name in answers.all())
    if (Date.now() < at_ms || (!isAnswered && Date.now() < at_ms + expected_ms_max)) return
    clearInterval(timer)
    end.abort()
  }, 50).unref()
  return end.signal
}

function errorLine(output: string): string[] {
  const line = output.split('\n').find((one) => /"level":"(error|fatal)"/.test(one))
  return line === undefined ? [] : [`the service logged ${line.slice(0, 500)}`]
}

function watchMemory(pid: number) {
  const before = residentMib(pid)
  let peak = before ?? 0
  const timer = setInterval(() => {
    peak = Math.max(peak, residentMib(pid) ?? 0)
  }, memory_ms).unref()
  return {
    end() {
      clearInterval(timer)
      return before === null ? null : { before, peak }
    },
  }
}

function lineOf({ name, seconds, victim, control, answers, memory_mib, faults }: AttackResult): string {
  const got = Object.entries(answers).map(([answer, count]) => `${answer} x ${count}`)
  const memory = memory_mib === null ? 'unknown' : `${memory_mib.before} to ${memory_mib.peak} MiB`
  const words = [
    `${faults.length === 0 ? 'ok  ' : 'FAIL'} ${name}, ${seconds} s`,
    `victim: ${timesLine(victim)}`,
    ...victimSteps.flatMap((step) => {
      const seen = victim.steps[step]
      const alone = control?.steps[step]
      return seen === undefined || alone === undefined
        ? []
        : [`\n     ${step}: ${timesLine(seen)} (control: ${timesLine(alone)})`]
    }),
    `attacker: ${got.join(', ') || 'nothing'}`,
    `memory: ${memory}`,
  ]
  return [words.join('; '), ...faults.map((fault) => `     ${fault}`)].join('\n')
}

const timesLine = ({ requests, p50_ms, p99_ms, max_ms }: Times): string =>
  `${requests} x, p50 ${p50_ms}, p99 ${p99_ms}, max ${max_ms} ms`
