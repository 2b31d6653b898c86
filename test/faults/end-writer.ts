import { isMainThread, type Worker } from 'node:worker_threads'

// Loaded before a gateway: SIGUSR2 terminates the first thread that it has started, which writes the store.

if (isMainThread) {
  process.once('worker', (worker: Worker) => {
    process.once('SIGUSR2', () => void worker.terminate())
  })
}
