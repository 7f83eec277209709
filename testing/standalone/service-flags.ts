/** Options of node for every service: those of `npm start`, `npm run service` and the image. A test holds all places equal. */
export const serviceFlags = ['--max-semi-space-size=16', '--initial-old-space-size=80']
