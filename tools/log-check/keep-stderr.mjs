// Preloaded (NODE_OPTIONS --import) into every Node process of `npm test`: keeps a copy of what programs of this
// checkout write to standard error, which is where logs go, in the folder that KEEP_STDERR_IN names, and the secrets
// that they were given in their environment. `find-leaks.ts` looks through both when the tests have ended.
import childProcess from 'node:child_process'
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import { promisify } from 'node:util'

const dir = process.env.KEEP_STDERR_IN
const program = process.argv[1] ?? ''

if (dir !== undefined) {
  if (program !== '' && !program.includes('/node_modules/') && !/\/(npm|npx)(-cli\.js)?$/.test(program)) keep(dir)
  const { NODE_OPTIONS, NODE_COMPILE_CACHE } = process.env
  passOn({ KEEP_STDERR_IN: dir, NODE_OPTIONS, ...(NODE_COMPILE_CACHE && { NODE_COMPILE_CACHE }) })
}

function keep(folder) {
  const file = join(folder, `${process.pid}-${Date.now()}.log`)
  const copy = (data) => {
    try {
      fs.appendFileSync(file, data)
    } catch {
      // The tests ended and the folder is gone.
    }
  }
  const { write, writeSync } = fs
  fs.write = (fd, data, ...rest) => {
    if (fd === 2) copy(data)
    return write(fd, data, ...rest)
  }
  fs.writeSync = (fd, data, ...rest) => {
    if (fd === 2) copy(data)
    return writeSync(fd, data, ...rest)
  }
  const toStderr = process.stderr.write
  process.stderr.write = function keeping(data, ...rest) {
    copy(data)
    return toStderr.call(this, data, ...rest)
  }
  copy(`${program}\n`)
  const secrets = Object.entries(process.env).flatMap(([name, value = '']) => secretOf(name, value))
  if (secrets.length > 0) fs.appendFileSync(join(folder, 'secrets'), `${secrets.join('\n')}\n`)
}

function secretOf(name, value) {
  if (!name.startsWith('TRIBUTARY_') || value === '') return []
  if (/_(TOKEN|MASTER_KEY|PASSWORD|SECRET_ACCESS_KEY)$/.test(name)) return [value]
  if (!name.endsWith('_URL') || !URL.canParse(value)) return []
  const { password } = new URL(value)
  return password === '' ? [] : [password, decodeURIComponent(password)]
}

/** Tests start programs with nothing but PATH in their environment; those are looked at too. */
function passOn(variables) {
  const passing =
    (start) =>
    (file, ...rest) => {
      const options = rest.find((one) => typeof one === 'object' && one !== null && !Array.isArray(one))
      if (options?.env !== undefined) options.env = { ...variables, ...options.env }
      return start(file, ...rest)
    }
  for (const name of ['spawn', 'spawnSync', 'execFile', 'execFileSync', 'fork']) {
    const original = childProcess[name]
    childProcess[name] = passing(original)
    // promisify(execFile) has a form of its own
    const custom = original[promisify.custom]
    if (custom !== undefined) childProcess[name][promisify.custom] = passing(custom)
  }
}
syncBuiltinESMExports()
