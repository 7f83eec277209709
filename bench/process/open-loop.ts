import { setTimeout as pause } from 'node:timers/promises'

/** Times that an open loop measured: ms from the due time of each request to its answer, and how long all took. */
export interface LoopTimes {
  ms: number[]
  seconds: number
}

/** Sends at a fixed rate for so many seconds, whatever the answers do: a slow answer delays no request. `n` counts from 0. */
export async function openLoop(
  { rate, seconds }: { rate: number; seconds: number },
  send: (n: number) => Promise<void>,
): Promise<LoopTimes> {
  const ms: number[] = []
  const answers: Promise<void>[] = []
  const started = performance.now()
  const sendDue = async (n: number, due: number) => {
    await send(n)
    ms.push(performance.now() - due)
  }
  while (answers.length < rate * seconds) {
    const due = started + (answers.length * 1000) / rate
    if (performance.now() < due) await pause(1)
    else answers.push(sendDue(answers.length, due))
  }
  await Promise.all(answers)
  return { ms, seconds: (performance.now() - started) / 1000 }
}
