import { errorHeaders } from './answer-error.ts'
import { dialects } from '../routes/find-route.ts'
import type { WriteError } from './broken-request.ts'
import { newId } from '../platform/new-id.ts'
import { nodeHttp } from '../platform/node-http.ts'

/** Tells an error where there is no request whose dialect could be told: in the format that most clients read. */
export const writeRawError: WriteError = (socket, error, status) => {
  const exchangeId = newId()
  const body = dialects.openai.errorBody(error, exchangeId)
  const headers = errorHeaders(dialects.openai, error, exchangeId)
  headers.push('content-length', String(Buffer.byteLength(body)))
  headers.push('connection', 'close')
  let head = `HTTP/1.1 ${status} ${nodeHttp.STATUS_CODES[status]}\r\n`
  for (let index = 0; index < headers.length; index += 2)
    head += `${headers[index]}: ${headers[index + 1]}\r\n`
  socket.end(`${head}\r\n${body}`)
}
