/** Loads the page again. A refresh by the document alone does not where the address has a fragment, as the first link has. */
export const waiting_script = 'setTimeout(() => location.reload(), 1000)'

/** The page of `/admin/` until the panel is built. */
export function waitingPage(failed: boolean): string {
  const [title, text] = failed
    ? [
        'The panel could not be built',
        'The log of the service says why. The next start tries again. Everything else runs.',
      ]
    : ['The panel is being built', 'This takes some seconds after the first start. This page loads itself again.']
  return [
    '<!doctype html><html lang="en"><head><meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">',
    ...(failed ? [] : ['<script src="/admin/waiting.js" defer></script>']),
    '<link rel="icon" href="/admin/icon.svg" type="image/svg+xml">',
    `<title>${title}</title></head><body><main><h1>${title}</h1><p>${text}</p>`,
    '<p><a href="/docs">Documentation</a></p></main></body></html>',
  ].join('\n')
}
