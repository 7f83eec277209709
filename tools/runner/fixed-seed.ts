import fc from 'fast-check'

/** Set up before each test file when `TRIBUTARY_TEST_SEED` is set: every property then draws the same cases in each run. */
fc.configureGlobal({ seed: Number(process.env.TRIBUTARY_TEST_SEED) })
