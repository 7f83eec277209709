import { type ChildProcess, spawn } from 'node:child_process'
import { once as ended } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Launch } from '../engine.ts'
import { announce, installJars, jarsDir, once } from './install.ts'

const ready_ms_max = 180_000

/** A Java program from the runtime jars of a Maven project. */
export interface JavaProgram {
  name: string
  pom: string
  /** Prepares the folder and returns how to run the program there. */
  launch(dir: string): Promise<Launch>
}

/**
 * Arguments of `java` for such a program. Its classes come out of an archive, which saves more than half of the start.
 * In tests, a start costs more than all requests that follow: there the fast compiler does.
 */
export const javaArguments = ({ name, pom }: Pick<JavaProgram, 'name' | 'pom'>): string[] => [
  ...(process.env.VITEST ? ['-XX:TieredStopAtLevel=1'] : []),
  `${archive_flag}${archiveOf(name, pom)}`,
  '-cp',
  join(jarsDir(name, pom), '*'),
]

const archive_flag = '-XX:SharedArchiveFile='
const archiveOf = (name: string, pom: string) => join(jarsDir(name, pom), 'classes.jsa')

/** Downloads the jars and makes the archive of the loaded classes, once per machine. */
export async function installJava(program: JavaProgram): Promise<void> {
  const { name, pom } = program
  await installJars(name, pom)
  const archive = archiveOf(name, pom)
  if (existsSync(archive)) return
  await once(async () => {
    if (existsSync(archive)) return
    announce(`Archiving the classes of ${name}, once for this machine ...`)
    const draft = `${archive}.draft`
    // Java leaves an archive aside that is empty or of another version: the start is slower then, and the same.
    await writeArchive(program, draft).catch(() => writeFile(draft, ''))
    await rename(draft, archive)
  })
}

/** Runs the program until it takes requests; Java writes the archive when it ends. */
async function writeArchive({ name, launch }: JavaProgram, draft: string): Promise<void> {
  const dir = await mkdtemp(join(tmpdir(), `tributary-${name}-`))
  try {
    const { command, args, probe } = await launch(dir)
    const writing = args.map((arg) => (arg.startsWith(archive_flag) ? `-XX:ArchiveClassesAtExit=${draft}` : arg))
    const child = spawn(command, writing, { cwd: dir, stdio: 'ignore' })
    const exit = ended(child, 'exit')
    try {
      await untilReady(child, probe)
    } finally {
      child.kill('SIGTERM')
      await exit
    }
  } finally {
    await rm(dir, { recursive: true, force: true })
  }
}

async function untilReady(child: ChildProcess, probe: () => Promise<void>): Promise<void> {
  for (const deadline = Date.now() + ready_ms_max; ; await pause(50)) {
    try {
      return await probe()
    } catch (error) {
      if (child.exitCode !== null || Date.now() > deadline) throw error
    }
  }
}
