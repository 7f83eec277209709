import { runProgram } from './program.ts'

// `tributary ... | head` closes our output early: that is no fault to report.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1))

// Ends even while a server that was given up (doctor) is still being waited for.
process.exit(await runProgram(process.argv.slice(2)))
