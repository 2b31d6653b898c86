/**
 * `node:http` without what an import of it brings: that reads each of its exports, and with the WebSocket among
 * them loads Node's own copy of undici: 35 ms of a start, and 2 MB of an idle gateway.
 */
export const nodeHttp = process.getBuiltinModule('node:http')
