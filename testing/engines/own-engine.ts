import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readdirSync, readFileSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import type { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { EngineUnavailable, type Launch, type OwnEngine, type Recipe } from './engine.ts'

const ready_ms_max = 180_000

/**
 * Prints the engine's pid, then waits for a word on its standard input. The pipe closes when the parent ends, however it
 * ends; then the guard kills the engine and deletes its data. The word `keep` keeps the data for a restart. The guard stops
 * the engine before it lists its children, so that it makes no new ones, and waits until they ended: PostgreSQL does not
 * start again while an old child runs.
 */
const guard = `
dir=$1; shift
"$@" </dev/null &
echo $! >&3; exec 3>&-
read -r word
kill -STOP $! 2>/dev/null
children=$(cat /proc/$!/task/$!/children 2>/dev/null)
kill -9 $children $! 2>/dev/null
wait
for child in $children; do
  while grep -q '^State:[^a-z]*[^ZX] ' /proc/$child/status 2>/dev/null; do sleep 0.02; done
done
[ "$word" = keep ] || rm -rf "$dir"`

/** Starts the engine as a child process with new data. It never outlives this process. */
export async function startOwnEngine(recipe: Recipe): Promise<OwnEngine> {
  await recipe.install()
  const dir = await mkdtemp(join(tmpdir(), `tributary-${recipe.name}-`))
  try {
    const launch = await recipe.launch(dir)
    let current = await start(recipe.name, launch, dir)
    const end = async (word: string) => {
      current.guard.ref()
      const over = current.guard.exitCode === null ? once(current.guard, 'exit') : null
      current.guard.stdin?.end(word)
      await over
    }
    return {
      url: launch.url,
      dir,
      origin: 'a process of its own',
      stop: async () => {
        await end('')
        await rm(dir, { recursive: true, force: true })
      },
      kill: () => end('keep\n'),
      restart: async () => {
        current = await start(recipe.name, launch, dir)
      },
      async pause() {
        const stopped = signal(current.pid, 'SIGSTOP')
        while (stopped.some(isRunning)) await pause(1)
      },
      resume: () => void signal(current.pid, 'SIGCONT'),
    }
  } catch (error) {
    await rm(dir, { recursive: true, force: true })
    throw error
  }
}

interface Started {
  guard: ChildProcess
  pid: number
}

/** Signals the engine and its children, and returns their pids. Only PostgreSQL answers from child processes. */
function signal(pid: number, name: NodeJS.Signals): number[] {
  process.kill(pid, name) // first: a stopped parent makes no further children
  const children = childrenOf(pid)
  for (const child of children) {
    try {
      process.kill(child, name)
    } catch {
      // It has ended by itself.
    }
  }
  return [pid, ...children]
}

/** A stopped thread may run for some more milliseconds on a busy machine, long enough for an answer. */
function isRunning(pid: number): boolean {
  if (process.platform !== 'linux') return false
  try {
    const threads = readdirSync(`/proc/${pid}/task`)
    return threads.some((thread) => !/\) [TtZX] /.test(readFileSync(`/proc/${pid}/task/${thread}/stat`, 'utf8')))
  } catch {
    return false // It has ended by itself.
  }
}

function childrenOf(pid: number): number[] {
  const text =
    process.platform === 'linux'
      ? readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
      : spawnSync('pgrep', ['-P', String(pid)], { encoding: 'utf8' }).stdout
  return text.split(/\s+/).filter(Boolean).map(Number)
}

async function start(name: string, launch: Launch, dir: string): Promise<Started> {
  const log = openSync(join(dir, 'log'), 'a')
  // Detached: a Ctrl-C of the terminal is ours to handle, not the engine's.
  const child = spawn('sh', ['-c', guard, 'sh', dir, launch.command, ...launch.args], {
    cwd: dir,
    detached: true,
    stdio: ['pipe', log, log, 'pipe'],
  })
  closeSync(log)
  child.stdin?.on('error', () => {}) // the guard ended early
  const [line] = await once(child.stdio[3]!, 'data')
  const pid = Number(String(line).trim())
  try {
    await untilReady(name, launch, pid, dir)
  } catch (error) {
    child.stdin?.end('keep\n')
    throw error
  }
  // A process may end without stopping it.
  child.unref()
  for (const pipe of [child.stdin, child.stdio[3]]) (pipe as Socket | null)?.unref()
  return { guard: child, pid }
}

async function untilReady(name: string, launch: Launch, pid: number, dir: string): Promise<void> {
  for (const deadline = Date.now() + ready_ms_max; ; await pause(50)) {
    try {
      return await launch.probe()
    } catch (cause) {
      if (lives(pid) && Date.now() < deadline) continue
      const log = await readFile(join(dir, 'log'), 'utf8').catch(() => '')
      throw new EngineUnavailable(`${name} did not start: ${log.trim().split('\n').slice(-5).join(' | ')}`, { cause })
    }
  }
}

function lives(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
