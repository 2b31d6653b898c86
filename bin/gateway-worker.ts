import { runWorker } from '../lib/workers/run-worker.ts'
import { plugins } from '../plugins/index.ts'

// One of several processes that `gateway serve` starts; it is told all it needs.
runWorker({ plugins, exit: code => process.exit(code) })
