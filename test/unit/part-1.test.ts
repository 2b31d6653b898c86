import { runPure } from '../together/run-together.ts'

await runPure(1)
