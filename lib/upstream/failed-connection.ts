import type { buildConnector } from 'undici'

const failures = new WeakSet<Error>()

/** Whether an error means that no connection was established, and not that an established one ended. */
export function isFailedConnection(error: Error): boolean {
  return failures.has(error)
}

/** Records connection errors; undici passes the same error to every request that waits for the connection. */
export function recordingFailure(callback: buildConnector.Callback): buildConnector.Callback {
  return (...[error, socket]) => {
    if (error === null) {
      callback(null, socket)
      return
    }
    failures.add(error)
    callback(error, null)
  }
}
