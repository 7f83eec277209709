import { parseArgs } from 'node:util'
import { attacks, partOf } from './attacks/attacks.ts'
import { runAttacks } from './run-attacks.ts'

const help = `npm run attack -- [options]

Starts a standalone process and attacks it, one attack after the other, each from a new company. Meanwhile another
company with another address, the victim, sends ordinary events and reads ordinary reports.

Every request of the victim must be answered 200 in time, and its report must count exactly its accepted events. The
attacker must be refused with the codes that the attack names. The memory of the process must stay within its limit.

  --seconds S   duration of each attack (10); some attacks need longer until they are refused
  --only NAME   run only this attack
  --part N/M    run every M-th attack, from the N-th on
  --list        list the attacks
  --json        print exactly one JSON document on stdout

Exit code 1 when an attack succeeded. The attack many-connections needs the address 127.0.0.66. Linux has it; on macOS
add it first: sudo ifconfig lo0 alias 127.0.0.66`

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '10' },
    only: { type: 'string' },
    part: { type: 'string', default: '1/1' },
    list: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})

async function main(): Promise<number> {
  const seconds = Number(values.seconds)
  if (!(seconds >= 1)) throw new Error('--seconds needs a number of at least 1')
  const chosen = partOf(attacks, values.part).filter(({ name }) => values.only === undefined || values.only === name)
  if (chosen.length === 0) throw new Error(`no attack is named ${values.only}; --list shows all`)
  const log = values.json ? console.error : console.info
  const results = await runAttacks({ attacks: chosen, seconds, log })
  if (values.json) console.info(JSON.stringify(results))
  return results.every(({ faults }) => faults.length === 0) ? 0 : 1
}

const width = Math.max(...attacks.map(({ name }) => name.length))
if (values.help) console.info(help)
else if (values.list) for (const { name, what } of attacks) console.info(`${name.padEnd(width)}  ${what}`)
else {
  process.exitCode = await main().catch((error: Error) => {
    process.stderr.write(`${error.message}\n`)
    return 1
  })
}
