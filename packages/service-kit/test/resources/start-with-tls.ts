import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { needed } from '@tributary/testing/engines/install'

const run = promisify(execFile)

/** Paths of PEM files, made for this run with openssl 3. */
interface TlsFiles {
  /** The authority that signed `cert`. */
  ca: string
  /** Another authority of the same name, which signed nothing. */
  other_ca: string
  key: string
  /** Of a server named `localhost`; 127.0.0.1 is none of its names. */
  cert: string
  /** Key and certificate in one file. */
  key_and_cert: string
  remove(): Promise<void>
}

/** An engine that uses such files, which are removed with it. */
export async function startWithTls<E extends { stop(): Promise<void> }>(
  start: (files: TlsFiles) => Promise<E>,
): Promise<E & { files: TlsFiles }> {
  const files = await makeTlsFiles()
  try {
    const engine = await start(files)
    const stop = async () => {
      await engine.stop()
      await files.remove()
    }
    return { ...engine, files, stop }
  } catch (error) {
    await files.remove()
    throw error
  }
}

/** Two authorities and a certificate for `localhost`, valid for a day. */
async function makeTlsFiles(): Promise<TlsFiles> {
  await needed('openssl', 'the tests of TLS make their certificates with openssl')
  const dir = await mkdtemp(join(tmpdir(), 'tributary-tls-'))
  const file = (name: string) => join(dir, `${name}.pem`)
  const sign = (name: string, subject: string, ...more: string[]) => {
    const made = ['-keyout', file(`${name}-key`), '-out', file(name), '-days', '1', '-subj', `/CN=${subject}`]
    const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
    return run('openssl', ['req', '-x509', ...key, ...made, ...more])
  }
  await Promise.all([sign('ca', 'Test Authority'), sign('other-ca', 'Test Authority')])
  const signer = ['-CA', file('ca'), '-CAkey', file('ca-key')]
  const leaf = ['-addext', 'basicConstraints=critical,CA:FALSE', '-addext', 'subjectAltName=DNS:localhost']
  await sign('server', 'localhost', ...signer, ...leaf)
  const parts = await Promise.all([readFile(file('server-key'), 'utf8'), readFile(file('server'), 'utf8')])
  await writeFile(file('key-and-cert'), parts.join(''), { mode: 0o600 })
  return {
    ca: file('ca'),
    other_ca: file('other-ca'),
    key: file('server-key'),
    cert: file('server'),
    key_and_cert: file('key-and-cert'),
    remove: () => rm(dir, { recursive: true, force: true }),
  }
}
