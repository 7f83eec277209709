import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

/** `npm run service -- NAME`: one service as a process of its own, on the servers that the settings name. */
const services = join(import.meta.dirname, '..', 'services')
const names = readdirSync(services).filter((name) => existsSync(join(services, name, 'src', 'main.ts')))
const [name] = process.argv.slice(2)
if (name !== undefined && names.includes(name)) await import(join(services, name, 'src', 'main.ts'))
else {
  console.error(`Say which service: ${names.join(', ')}.`)
  process.exitCode = 2
}
