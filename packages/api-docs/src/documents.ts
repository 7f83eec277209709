import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Asset, readAsset, toAsset } from './assets.ts'
import type { Site } from './site/site.ts'

const viewer = (name: string) => join(import.meta.dirname, '..', 'viewer', name)

export interface Documents {
  /** Files of the viewer, which never change under their name. */
  kept: ReadonlyMap<string, Asset>
  /** A page or a document by its path below `/docs`. */
  find(path: string): Promise<Asset | null>
}

/** Opens all that `/docs` shows, at its first use: most processes never show their documentation. */
export const openDocuments = (): (() => Promise<Documents>) => lazily(readDocuments)

async function readDocuments(): Promise<Documents> {
  const script = 'text/javascript; charset=utf-8'
  const [style, site, search] = await Promise.all([
    readAsset(viewer('site.css'), 'text/css; charset=utf-8'),
    readAsset(viewer('site.js'), script),
    readAsset(fileURLToPath(import.meta.resolve('minisearch')), script),
  ])
  const names = {
    style: `files/site.${style.hash}.css`,
    script: `files/site.${site.hash}.js`,
    search: `files/search.${search.hash}.js`,
  }
  const kept = new Map([
    [names.style, style],
    [names.script, site],
    [names.search, search],
  ])
  const { openSite, readRepository } = await import('./site/site.ts')
  const { rawFiles } = await import('./site/pages.ts')
  const opened = await openSite({
    style: `/docs/${names.style}`,
    script: `/docs/${names.script}`,
    search: `/docs/${names.search}`,
  })
  const made = new Map<string, () => Promise<Asset>>([
    ...opened.paths.map((path): [string, () => Promise<Asset>] => [path, lazily(() => pageOf(opened, path))]),
    ['search.json', lazily(async () => toAsset(Buffer.from(JSON.stringify(await opened.searchEntries())), json))],
    ...[...rawFiles].map(([path, file]): [string, () => Promise<Asset>] => [
      path,
      lazily(async () => toAsset(Buffer.from(await readRepository(file)), path.endsWith('.json') ? json : plain)),
    ]),
  ])
  return { kept, find: async (path) => (await made.get(path)?.()) ?? null }
}

const json = 'application/json; charset=utf-8'
const plain = 'text/plain; charset=utf-8'

const pageOf = async (site: Site, path: string): Promise<Asset> =>
  toAsset(Buffer.from(await site.html(path)), 'text/html; charset=utf-8')

/** Makes a value at its first use. One that could not be made is tried again. */
function lazily<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | null = null
  return () => {
    made ??= make().catch((error: unknown) => {
      made = null
      throw error
    })
    return made
  }
}
