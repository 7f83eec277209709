export interface Step {
  step: string
  /** When it ended, seconds since the start. */
  at_s: number
  took_s: number
  /** The answer of a command. */
  answer?: object
}

export interface Steps {
  done: readonly Step[]
  /** Does a step and notes its times. */
  run<Result>(step: string, work: () => Promise<Result>): Promise<Result>
  /** Runs a command, and notes its answer as well. */
  command<Answer extends object>(step: string, work: () => Promise<Answer>): Promise<Answer>
}

const seconds = (ms: number) => Math.round(ms / 100) / 10

export function noteSteps(log: (line: string) => void): Steps {
  const started = performance.now()
  const done: Step[] = []
  async function timed<Result>(step: string, work: () => Promise<Result>): Promise<[Step, Result]> {
    const begun = performance.now()
    const result = await work()
    const ended = performance.now()
    return [{ step, at_s: seconds(ended - started), took_s: seconds(ended - begun) }, result]
  }
  function note(step: Step): void {
    done.push(step)
    const answer = step.answer === undefined ? '' : `  ${JSON.stringify(step.answer)}`
    log(`${step.at_s.toFixed(1).padStart(7)} s  ${step.step} (${step.took_s} s)${answer}`)
  }
  return {
    done,
    async run(step, work) {
      const [noted, result] = await timed(step, work)
      note(noted)
      return result
    },
    async command(step, work) {
      const [noted, answer] = await timed(step, work)
      note({ ...noted, answer })
      return answer
    },
  }
}
