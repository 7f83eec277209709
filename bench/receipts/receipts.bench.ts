import { verifyJws } from '@tributary/stores/verify-jws'
import { appleTransaction, createAppleAuthority } from '@tributary/testing/stores/apple-authority'
import { type Bench, type BenchRow, numberArgument } from '../bench.ts'

const per_second_min = 2000

/** Signed transactions of StoreKit 2, each another one, below one chain that is trusted already, and below chains of strangers. */
export const bench: Bench = {
  name: 'receipts',
  title: 'receipts: signed transactions of StoreKit 2 verified offline, by second of CPU (--count 20000)',
  async run(args) {
    const count = numberArgument(args, 'count', 20_000)
    const [apple, stranger] = [createAppleAuthority(), createAppleAuthority()]
    const verify = verifyJws([apple.root.certificate])
    const of = (authority: typeof apple) =>
      Array.from({ length: count }, (_, n) => authority.sign(appleTransaction({ transactionId: `2000000${n}` })))
    await measure('warm-up', of(apple).slice(0, 2000), verify)
    const [genuine, forged] = [
      await measure('by Apple', of(apple), verify),
      await measure('by strangers', of(stranger), verify),
    ]
    const measured = genuine.per_cpu_second
    const aim = {
      what: 'JWS of a CPU second, chain trusted',
      aim: `>= ${per_second_min}`,
      measured,
      met: measured >= per_second_min,
    }
    return { rows: [genuine, forged], aims: [aim] }
  },
}

async function measure(signed: string, jws: readonly string[], verify: ReturnType<typeof verifyJws>) {
  const before = process.cpuUsage()
  let valid = 0
  for (const one of jws) if (typeof (await verify(one)) === 'object') valid += 1
  const { user, system } = process.cpuUsage(before)
  const us = (user + system) / jws.length
  return {
    signed,
    jws: jws.length,
    valid,
    cpu_us_of_one: Math.round(us),
    per_cpu_second: Math.round(1e6 / us),
  } satisfies BenchRow
}
