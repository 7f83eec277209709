import { EngineRefused } from '@tributary/service-kit/resources/engine-refused'

/**
 * Loads the module of an embedded engine. npm installs its binaries as packages of their own, one a platform, and does not fail where one
 * cannot be had (docs/decisions/running.md#embedded-engines-are-optional-dependencies): rejects with `EngineRefused`, which says what is
 * missing and which setting names a server instead.
 */
export async function loadEmbedded<T>(
  engine: string,
  packages: string,
  setting: string,
  load: () => Promise<T>,
): Promise<T> {
  try {
    return await load()
  } catch (cause) {
    const reason = `The embedded ${engine} cannot be loaded: its binaries for ${process.platform}-${process.arch} (${packages}) are not installed.`
    throw new EngineRefused(reason, `Run \`npm install\`. If npm has none for this machine, set ${setting}.`, { cause })
  }
}
