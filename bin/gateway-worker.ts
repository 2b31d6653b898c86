import { runWorker } from '../lib/workers/run-worker.ts'
import { plugins } from '../plugins/index.ts'

// One of several processes that `gateway serve` starts; it receives its configuration as a message.
runWorker({ plugins, exit: code => process.exit(code) })
