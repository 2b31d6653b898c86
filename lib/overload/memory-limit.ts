import { totalmem } from 'node:os'

/** The memory this process may use: the setting, else its container's limit, else the machine's. */
export function memoryLimit(configured: number | undefined): number {
  if (configured !== undefined) return configured
  const machine = totalmem()
  const constrained = process.constrainedMemory()
  // Without a limit it is 0, or a number no machine has.
  return constrained > 0 && constrained < machine ? constrained : machine
}
