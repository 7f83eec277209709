import { existsSync } from 'node:fs'
import { EngineUnavailable } from '../engine.ts'
import { find, installOfDebian, once } from './install.ts'

/** Chromium without a window. It takes two thirds of the CPU that a whole browser takes for a page. */
const shell = 'chromium-headless-shell'
const browsers = ['chromium', 'chromium-browser', 'google-chrome']

/**
 * The program of Chromium: that of `TRIBUTARY_TEST_CHROMIUM`, else the headless shell, installed if need be, else a browser of the machine.
 * Throws EngineUnavailable without any.
 */
export async function findChromium(): Promise<string> {
  const given = process.env.TRIBUTARY_TEST_CHROMIUM
  if (given) {
    if (existsSync(given)) return given
    throw new EngineUnavailable(`TRIBUTARY_TEST_CHROMIUM names ${given}, which does not exist`)
  }
  try {
    return await findShell()
  } catch (error) {
    for (const name of browsers) {
      const path = await find(name)
      if (path !== null) return path
    }
    throw error
  }
}

/** The headless shell of the machine, else that of Debian. */
async function findShell(): Promise<string> {
  const found = await find(shell)
  if (found !== null) return found
  await once(async () => {
    if ((await find(shell)) === null) await installOfDebian(shell, shell)
  })
  const debian = await find(shell)
  if (debian === null) throw new EngineUnavailable(`${shell} was installed and is not on the PATH`)
  return debian
}
