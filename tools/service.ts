import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

const services = join(import.meta.dirname, '..', 'services')
const names = readdirSync(services).filter((name) => existsSync(join(services, name, 'src', 'main.ts')))
const help = `npm run service -- NAME

Runs one service as a process, on the servers of its settings (docs/settings.md): TRIBUTARY_KAFKA_BROKERS and so on.
Without them the service names the settings that it needs.

Services: ${names.join(', ')}`

const [name] = process.argv.slice(2)
if (name === '--help') console.info(help)
else if (name !== undefined && names.includes(name)) await import(join(services, name, 'src', 'main.ts'))
else {
  console.error(name === undefined ? help : `No service is named ${name}. The services are: ${names.join(', ')}.`)
  process.exitCode = 2
}
