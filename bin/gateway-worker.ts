import { enableCompileCache } from 'node:module'

// One of several processes that `gateway serve` starts; it is told all it needs.
enableCompileCache()
const [{ runWorker }, { plugins }] = await Promise.all([
  import('../lib/workers/run-worker.ts'),
  import('../plugins/index.ts'),
])
runWorker({ plugins, exit: code => process.exit(code) })
