/** Where the page finds its files. */
export interface PageFiles {
  style: string
  viewer: string
  script: string
}

/** The reference page. It names no address but those of its own service. */
export const page = ({ style, viewer, script }: PageFiles): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Tributary API</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${style}">
<script src="${viewer}" defer></script>
<script src="${script}" type="module"></script>
</head>
<body>
<main id="reference"></main>
<noscript>The reference needs JavaScript; <a href="/docs/openapi.json">openapi.json</a> does not.</noscript>
</body>
</html>
`

/**
 * Nothing from anywhere else, whatever the viewer would like; no frames, no forms. The viewer draws its icons as `data:`
 * images.
 */
export const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')
