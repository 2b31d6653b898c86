/** Takes messages to another process and brings its own, in order, until it is closed. */
export interface Channel {
  send(message: unknown): void
  onMessage(listener: (message: unknown) => void): void
  /** The other end is gone, and everything it had sent has been heard. */
  onClose(listener: () => void): void
}

/** What a channel needs of a process: this one, or one that it has forked. */
interface LinkedProcess {
  readonly connected: boolean
  send?(message: object, done: (error: Error | null) => void): boolean
  on(event: 'message', listener: (message: unknown) => void): unknown
  once(event: 'disconnect', listener: () => void): unknown
}

/** The channel that Node opens between a process and those it forks. */
export function processChannel(linked: LinkedProcess): Channel {
  return {
    send(message) {
      // What can no longer be sent is told of by `disconnect`, which comes in any case.
      if (linked.connected) linked.send?.(message as object, () => undefined)
    },
    onMessage: listener => void linked.on('message', listener),
    onClose: listener => void linked.once('disconnect', listener),
  }
}
