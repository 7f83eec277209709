import { defineConfig, type Plugin } from 'vite'

/**
 * Names a script of its own first, so that it runs while the others still load: what it begins does not wait for them
 * (src/early/early.ts).
 */
const runEarly: Plugin = {
  name: 'run-early',
  transformIndexHtml: {
    order: 'post',
    handler(_html, { bundle = {} }) {
      const early = Object.values(bundle).find(({ type, name }) => type === 'chunk' && name === 'early')
      if (early === undefined) throw new Error('no chunk is named early')
      const attrs = { type: 'module', async: true, crossorigin: true, src: `/admin/${early.fileName}` }
      return [{ tag: 'script', attrs, injectTo: 'head-prepend' }]
    },
  },
}

/** The panel lies below `/admin/`. Nothing is inline, so that the policy of content holds without exceptions. */
export default defineConfig({
  base: '/admin/',
  plugins: [runEarly],
  build: {
    target: 'es2023',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    rolldownOptions: {
      output: {
        codeSplitting: {
          groups: [
            { name: 'early', test: /\/src\/early\//, priority: 2 },
            // One file holds all imports of the first script: many small ones take turns on few connections.
            { name: 'first', tags: ['$initial'], priority: 1 },
            // What several pages of numbers share, in one file. What is loaded later, as charts are, stays out.
            {
              name: (id, bundle) => (bundle.getModuleInfo(id)?.dynamicImporters.length === 0 ? 'figures' : null),
              test: /\/panel\/src\/(api|parts\/figure)\//,
              minShareCount: 3,
              includeDependenciesRecursively: false,
            },
          ],
        },
      },
    },
  },
})
