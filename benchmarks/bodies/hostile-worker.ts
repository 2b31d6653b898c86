import { workerData } from 'node:worker_threads'
import { denseChat } from './made-bodies.ts'
import { upload } from './upload.ts'

const { url, headers } = workerData as { url: string; headers: Record<string, string> }
const clients = 16

/** Sends bodies that take long to scan and are refused at their very end, until the thread is terminated. */
async function send(): Promise<never> {
  for (;;) await upload(url, headers, denseChat(8 * 1_048_576))
}

await Promise.all(Array.from({ length: clients }, send))
