import { appRoutes } from '@tributary/contracts/admin/apps'
import type { JudgedReceipt } from '@tributary/contracts/receipt/judged-receipt'
import type { Command } from 'commander'
import { admin } from '../../admin.ts'
import { readableFile } from '../../arguments.ts'
import { readEngineSettings } from '../../config.ts'
import { CliError } from '../../errors.ts'
import { lines, print } from '../../output.ts'
import { readReceiptFile } from '../../receipt/receipt-file.ts'
import { offlineText } from '../../receipt/receipt-words.ts'

interface VerifyOptions {
  app?: string
  json?: boolean
}

const verifyHelp = `
FILE holds what an app got from its store: a signed transaction of StoreKit 2 (three parts with dots between), the JSON of
props.receipt, or an app receipt from before StoreKit 2. No store is asked, so only signed transactions can be verified.
--app compares it with the bundle id of an app, which it requests from the service.
Any verdict is an answer: the exit code is 0.
--json: {store, verdict, reason, product_id, transaction_id, environment}`

/** Adds `store verify`. */
export function storeCommands(program: Command): void {
  const group = program.command('store').description('receipts of the App Store and of Google Play')
  group
    .command('verify')
    .description('say offline what a receipt is')
    .argument('<file>', 'one receipt', readableFile)
    .option('--app <app_id>', 'the app that it has to be of')
    .addHelpText('after', verifyHelp)
    .action(verify)
}

async function verify(path: string, options: VerifyOptions): Promise<void> {
  const receipt = await readReceiptFile(path)
  const binding = options.app === undefined ? {} : { bundle_id: await getBundleId(options.app) }
  const { TRIBUTARY_APPLE_ROOTS_FILE: roots_file } = readEngineSettings(['TRIBUTARY_APPLE_ROOTS_FILE'], [])
  // Loaded here, since the library of Apple takes half a second.
  const [{ judgeReceipt }, { verifyJws }, { readAppReceipt }, { readAppleRoots }] = await Promise.all([
    import('@tributary/tenancy/stores/judge-receipt'),
    import('@tributary/stores/verify-jws'),
    import('@tributary/stores/app-receipt'),
    import('@tributary/stores/apple-roots'),
  ])
  const roots = readRoots(() => readAppleRoots(roots_file))
  const judged = await judgeReceipt(receipt, binding, {
    ...{ verify: verifyJws(roots), readAppReceipt: readAppReceipt(roots), appStore: null, googlePlay: null },
  })
  const notes = [
    offlineText(judged),
    ...(options.app === undefined && judged.product_id !== null ? [not_compared] : []),
    ...(roots_file === undefined ? [] : [`The roots of ${roots_file} were used, not the one of Apple.`]),
  ]
  print(options, answerOf(judged), `${lines(answerOf(judged))}\n${notes.join('\n')}`)
}

const not_compared = 'It was not compared with an app: name one with --app.'

const answerOf = ({ store, verdict, reason, product_id, transaction_id, environment }: JudgedReceipt) => ({
  ...{ store, verdict, reason, product_id, transaction_id, environment },
})

async function getBundleId(app_id: string): Promise<string> {
  const { bundle_id } = await admin(appRoutes.getApp, { params: { id: app_id } })
  if (bundle_id) return bundle_id
  throw new CliError(
    'no_bundle_id',
    `${app_id} has no bundle id: tributary app set ${app_id} --bundle-id com.example.run`,
  )
}

function readRoots<T>(read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw new CliError('unreadable_file', `TRIBUTARY_APPLE_ROOTS_FILE: ${(error as Error).message}`)
  }
}
