/** Rounds of a slow property: `usual` in `npm test`, and `TRIBUTARY_TEST_ROUNDS` times as many in `npm run prove`. */
export const roundsOf = (usual: number): number => Math.ceil(usual * Number(process.env.TRIBUTARY_TEST_ROUNDS ?? 1))
