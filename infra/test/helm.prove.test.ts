import { execFile } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describeWith } from '@tributary/testing/engines/describe-with-engine'
import { EngineUnavailable } from '@tributary/testing/engines/engine'
import { announce, cacheDir, needed } from '@tributary/testing/engines/install'
import { expect, it } from 'vitest'
import { helm } from './helm/find-objects.ts'
import { chart, type Manifest, manifestsOf } from './helm/render-chart.ts'

const run = promisify(execFile)
const version = 'v3.22.0'
/** Helm has hundreds of packages: two cores build it in two to six minutes. */
const build_ms_max = 900_000

/** Builds Helm from the Go module proxy, once for this machine. */
async function openHelm() {
  const folder = join(cacheDir(), `helm-${version}`)
  await needed('go', 'Helm is built by Go 1.26 (https://go.dev)')
  // Without the lock of installers: others would wait for it for longer than they do.
  if (!existsSync(folder)) {
    announce(`Building Helm ${version}, once for this machine (minutes) ...`)
    await mkdir(cacheDir(), { recursive: true })
    const draft = await mkdtemp(`${folder}-`)
    const env = { ...process.env, GOBIN: draft, GOFLAGS: '-buildvcs=false' }
    try {
      await run('go', ['install', `helm.sh/helm/v3/cmd/helm@${version}`], { env, timeout: build_ms_max })
      await rename(draft, folder)
    } catch (cause) {
      await rm(draft, { recursive: true, force: true })
      throw new EngineUnavailable('Helm could not be built', { cause })
    }
  }
  const command = (...args: string[]) =>
    run(join(folder, 'helm'), args, { maxBuffer: 2 ** 24 }).then(({ stdout }) => stdout)
  return { command, stop: async () => {} }
}

const key = ({ kind, metadata }: Manifest) => `${kind}/${metadata.name}`
const sorted = (manifests: Manifest[]) => manifests.toSorted((one, other) => (key(one) < key(other) ? -1 : 1))

await describeWith('Helm', openHelm, ({ command }) => {
  it.each(['small', 'cloud'])('renders the values %s as the repository has them', async (name) => {
    const values = ['--values', join(helm, 'examples', `${name}.yaml`)]
    const place = ['--namespace', 'tributary', '--kube-version', '1.35']
    const theirs = manifestsOf(await command('template', 'tributary', chart, ...values, ...place))
    const ours = manifestsOf(readFileSync(join(helm, 'rendered', `${name}.yaml`), 'utf8'))
    expect(sorted(theirs)).toEqual(sorted(ours))
  })
  it('finds nothing wrong with the chart', async () => {
    for (const name of ['small', 'cloud'])
      await command('lint', '--strict', '--quiet', chart, '--values', join(helm, 'examples', `${name}.yaml`))
    await expect(command('lint', chart, '--set', 'replicas=3')).rejects.toThrow('replicas')
  })
})
