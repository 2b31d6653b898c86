import { totalmem } from 'node:os'

/** The memory this process may use: the setting, else its container's limit, else the machine's. */
export function memoryLimit(configured: number | undefined): number {
  if (configured !== undefined) return configured
  const machine = totalmem()
  const constrained = process.constrainedMemory()
  // Without a limit it is 0, or a number no machine has.
  return constrained > 0 && constrained < machine ? constrained : machine
}

/** Reads the memory in use. It is read from a file, and without a descriptor left the last number stands. */
export function memoryReader(): () => number {
  let bytes = 0
  return () => {
    try {
      bytes = process.memoryUsage.rss()
    } catch (error) {
      if ((error as NodeJS.ErrnoException).syscall === undefined) throw error
    }
    return bytes
  }
}
