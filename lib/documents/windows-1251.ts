const decoder = new TextDecoder('windows-1251')
const bytes = new Map(Array.from({ length: 256 }, (_, byte) => [decoder.decode(Uint8Array.of(byte)), byte]))

/** XML in windows-1251; characters that it has not are references such as `&#8381;`. */
export function encodeXml(text: string): Buffer {
  return Buffer.concat(
    Array.from(text, character => {
      const byte = bytes.get(character)
      return byte === undefined ? Buffer.from(`&#${character.codePointAt(0)};`) : Buffer.of(byte)
    }),
  )
}
