import { runSlow } from '../together/run-together.ts'

await runSlow(3)
