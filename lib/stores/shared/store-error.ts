/** The store cannot be opened: it is damaged, foreign, or of a newer program. */
export class StoreError extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options)
    this.name = 'StoreError'
  }
}

/** Another process, or another part of this one, is the store's writer. */
export class StoreLockedError extends StoreError {
  constructor(file: string) {
    super(
      `${file} is open in another process, and a SQLite store has one writer: ` +
        'stop the other gateway, or give this one a store of its own',
    )
    this.name = 'StoreLockedError'
  }
}

/** The system would not open a file: says which, and why in the system's words. */
export function cannotOpen(file: string, cause: unknown): StoreError {
  const reason = cause instanceof Error ? cause.message : String(cause)
  return new StoreError(`${file} cannot be opened: ${reason}`, { cause })
}
