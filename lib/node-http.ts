/**
 * `node:http` without what an import of it brings: that reads each of its exports, and with the WebSocket among
 * them loads Node's own copy of undici, 10 MB and a tenth of a second.
 */
export const nodeHttp = process.getBuiltinModule('node:http')
