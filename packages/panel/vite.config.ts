import { defineConfig } from 'vite'

/** The panel lies below `/admin/`. Nothing is inline, so that the policy of content holds without exceptions. */
export default defineConfig({
  base: '/admin/',
  build: {
    target: 'es2023',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
})
