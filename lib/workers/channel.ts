/** Takes messages to another process and brings its own, in order, until it is closed. */
export interface Channel {
  send(message: unknown): void
  onMessage(listener: (message: unknown) => void): void
  /** The other end is gone, and what it had sent has been heard. */
  onClose(listener: () => void): void
}

/** What a channel needs of a process: this one, or one that it has forked. */
interface LinkedProcess {
  readonly connected: boolean
  readonly pid?: number | undefined
  send?(message: object, done: (error: Error | null) => void): boolean
  on(event: 'message', listener: (message: unknown) => void): unknown
  once(event: 'disconnect' | 'exit' | 'error', listener: () => void): unknown
  disconnect?(): void
}

/** How long a process that has exited may be read from. */
const restMs = 1000

/** The channel that Node opens between a process and those it forks. */
export function processChannel(linked: LinkedProcess): Channel {
  return {
    send(message) {
      // What can no longer be sent is told of by the close.
      if (linked.connected) linked.send?.(message as object, () => undefined)
    },
    onMessage: listener => void linked.on('message', listener),
    onClose(listener) {
      let isClosed = false
      const close = (): void => {
        if (isClosed) return
        isClosed = true
        listener()
      }
      linked.once('disconnect', close)
      linked.once('error', () => {
        // One that could not be started has no end to be told of.
        if (linked.pid === undefined) close()
      })
      // A process killed while a connection is handed to it may never be said to have disconnected; as long as
      // it is not, connections would be handed to it.
      linked.once('exit', () => {
        setTimeout(() => {
          if (linked.connected) linked.disconnect?.()
          close()
        }, restMs)
      })
    },
  }
}
