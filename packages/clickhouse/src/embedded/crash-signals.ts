/** Signals that chdb takes over for the whole process whenever its engine starts. All but the last are those of a crash. */
const taken_signals = [
  ...(['SIGABRT', 'SIGBUS', 'SIGFPE', 'SIGILL', 'SIGSEGV', 'SIGSYS', 'SIGTRAP'] as const),
  'SIGTSTP',
] as const

/**
 * Lets a crash end the process at once again; to be called after each start of an engine
 * (docs/decisions/running.md#a-crash-of-the-engine-ends-the-process). The handler of chdb keeps the thread that crashed for five minutes,
 * so that another one may print where it was. A server has that thread, chdb has none: nothing is printed, and all who wait for the crashed
 * thread wait.
 */
export function restoreCrashSignals(): void {
  const none = () => {}
  for (const signal of taken_signals) {
    // Node sets a signal back to the default of the system when its last listener goes.
    process.on(signal, none)
    process.off(signal, none)
  }
}
