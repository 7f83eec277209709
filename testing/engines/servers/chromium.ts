import { existsSync } from 'node:fs'
import { EngineUnavailable } from '../engine.ts'
import { find, installOfDebian, once } from './install.ts'

const names = ['chromium', 'chromium-browser', 'google-chrome']

/** The program of Chromium: that of `TRIBUTARY_TEST_CHROMIUM`, else the machine's own, else Debian's. */
export async function findChromium(): Promise<string> {
  const given = process.env.TRIBUTARY_TEST_CHROMIUM
  if (given) {
    if (existsSync(given)) return given
    throw new EngineUnavailable(`TRIBUTARY_TEST_CHROMIUM names ${given}, which does not exist`)
  }
  const found = await installed()
  if (found !== null) return found
  await once(async () => {
    if ((await installed()) === null) await installOfDebian('chromium', 'chromium')
  })
  const debian = await installed()
  if (debian === null) throw new EngineUnavailable('chromium was installed and is not on the PATH')
  return debian
}

async function installed(): Promise<string | null> {
  for (const name of names) {
    const path = await find(name)
    if (path !== null) return path
  }
  return null
}
