import { parseArgs } from 'node:util'
import { attacks } from './attacks/attacks.ts'
import { runAttacks } from './run-attacks.ts'

const help = `npm run attack -- [options]

Starts a standalone process of its own and attacks it, one attack after the other, each as a company of its own. Another
company, with another address, sends ordinary events and reads ordinary reports meanwhile.

The other company must be answered 200 in time, each time, and its report must count exactly what was accepted. The
attacker must be refused with the codes that the attack names. The memory of the process must stay within its bound.

  --seconds S   how long each attack lasts (10); some need longer to be refused
  --only NAME   this attack alone
  --list        shows the attacks
  --json        prints exactly one JSON document on stdout

Exit code 1 when an attack worked. The attack on connections needs the address 127.0.0.66, which Linux has; on macOS
add it first: sudo ifconfig lo0 alias 127.0.0.66`

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '10' },
    only: { type: 'string' },
    list: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})

async function main(): Promise<number> {
  const seconds = Number(values.seconds)
  if (!(seconds >= 1)) throw new Error('--seconds needs a number of at least 1')
  const chosen = attacks.filter(({ name }) => values.only === undefined || values.only === name)
  if (chosen.length === 0) throw new Error(`no attack is named ${values.only}; --list shows all`)
  const say = values.json ? console.error : console.info
  const results = await runAttacks({ attacks: chosen, seconds, say })
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
