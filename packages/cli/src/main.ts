import { runProgram } from './program.ts'

// `tributary ... | head` closes our output early, which is not an error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1))

// Exits even while a check of doctor still waits for a server after its timeout.
process.exit(await runProgram(process.argv.slice(2)))
