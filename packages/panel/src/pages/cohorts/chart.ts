/** Steps of the colour: each differs from its neighbours. */
const steps = 7

/** The colour of a rate among those of the map; 0 is the palest. */
export const stepOf = (rate: number, most: number): number =>
  rate <= 0 || most <= 0 ? 0 : Math.min(steps - 1, 1 + Math.floor((rate / most) * (steps - 1.001)))
