import { spawn } from 'node:child_process'
import { rmSync } from 'node:fs'
import { constants, setPriority } from 'node:os'
import { join } from 'node:path'
import type { Logger } from 'pino'
import { builtPanel, isBuilt } from './built-panel.ts'

/** A build takes some seconds; one that hangs is ended. */
const build_ms_max = 120_000

/**
 * Builds the panel in a process of its own, unless it is built already. Its priority is the lowest: events come first. A build
 * that fails changes nothing else; `/admin/` shows that it failed, and the next start tries again. Returns the function that ends it.
 */
export function startPanelBuild(logger: Logger): () => void {
  const built = builtPanel()
  if (isBuilt(built)) return () => {}
  rmSync(built.failure, { force: true })
  const child = spawn(process.execPath, [join(import.meta.dirname, 'build.ts'), built.dir], {
    stdio: ['pipe', 'ignore', 'pipe'],
    timeout: build_ms_max,
  })
  let output = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    output = (output + text).slice(-4000)
  })
  child.on('error', (err) => logger.error({ err }, 'the panel was not built'))
  child.on('spawn', () => {
    if (child.pid !== undefined) lowerPriority(child.pid)
  })
  let stopped = false
  child.on('exit', (code) => {
    if (code !== 0 && !stopped) logger.error({ code, output }, 'the panel was not built')
  })
  child.unref()
  return () => {
    stopped = true
    child.kill('SIGKILL')
  }
}

function lowerPriority(pid: number): void {
  try {
    setPriority(pid, constants.priority.PRIORITY_LOW)
  } catch {
    // It has ended already.
  }
}
