/**
 * `node:http` without the cost of an import: an import reads each export, including WebSocket, which loads Node's own
 * copy of undici: 35 ms of a start, and 2 MB of an idle gateway.
 */
export const nodeHttp = process.getBuiltinModule('node:http')
