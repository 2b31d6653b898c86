import { writeFileSync } from 'node:fs'
import { isMainThread } from 'node:worker_threads'
import { memoryInUse } from './memory-in-use.ts'

// Loaded before a gateway: SIGWINCH, which has no other effect, makes it write down how much memory is in use.

const { MEMORY_FILE: file } = process.env
if (isMainThread && file !== undefined)
  process.on('SIGWINCH', () => writeFileSync(file, String(memoryInUse())))
