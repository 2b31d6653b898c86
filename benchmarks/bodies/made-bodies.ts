/** A body that is generated while it is sent, so that it takes no memory in the client. */
export interface Pieces {
  readonly length: number
  pieces(): Iterable<Buffer>
}

const pieceBytes = 262_144
const filling = Buffer.alloc(pieceBytes, 'QUJD')

function around(before: string, bytes: number, after: string, fill: Buffer): Pieces {
  const head = Buffer.from(before)
  const tail = Buffer.from(after)
  return {
    length: head.length + bytes + tail.length,
    *pieces() {
      yield head
      for (let sent = 0; sent < bytes; sent += pieceBytes)
        yield fill.subarray(0, Math.min(pieceBytes, bytes - sent))
      yield tail
    },
  }
}

/** A chat whose one message has an image of this many characters. */
export function longChat(bytes: number): Pieces {
  const whole = Math.floor(bytes / 4) * 4
  const before =
    '{"model":"m","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,'
  return around(before, whole, '"}}]}]}', filling)
}

const dense = Buffer.alloc(pieceBytes, '[1],')

/** A chat that is all structure, so that every byte must be scanned, and that lacks its end. */
export function denseChat(bytes: number): Pieces {
  return around('{"model":"m","messages":[],"x":[', Math.floor(bytes / 4) * 4, '0]', dense)
}

/** A form with one file of this many bytes. */
export function formPieces(bytes: number): Pieces {
  const before =
    '--b\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nuser_data\r\n' +
    '--b\r\nContent-Disposition: form-data; name="file"; filename="a.bin"\r\n\r\n'
  return around(before, bytes, '\r\n--b--\r\n', filling)
}
