import type { buildConnector } from 'undici'

const failures = new WeakSet<Error>()

/** Whether an error is that no connection came about; else it is the end of one that stood. */
export function isFailedConnection(error: Error): boolean {
  return failures.has(error)
}

/** undici tells the requests that wait for a connection the same error. */
export function noting(callback: buildConnector.Callback): buildConnector.Callback {
  return (...[error, socket]) => {
    if (error === null) {
      callback(null, socket)
      return
    }
    failures.add(error)
    callback(error, null)
  }
}
