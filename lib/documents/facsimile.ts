import { createHash } from 'node:crypto'
import type { Seller } from '../companies/seller.ts'
import type { RecordReader, Records } from '../stores/records/records.ts'
import type { PrintedDocument } from './document.ts'
import { DocumentError } from './document-error.ts'

const prefix = 'sha256:'

/**
 * The seller as documents are to keep it: its image is stored once by its bytes, and named by their hash. A file that is
 * replaced later changes no document that was issued before.
 */
export async function keepFacsimile(records: Records, seller: Seller, at: number): Promise<Seller> {
  const image = seller.facsimile
  if (image === undefined) return seller
  const id = createHash('sha256').update(image).digest('hex')
  const { build } = records
  const [known] = await records.all(build.selectFrom('facsimiles').select('id').where('id', '=', id))
  if (known === undefined) {
    const row = build
      .insertInto('facsimiles')
      .values({ id, image, kept_at: at })
      .onConflict(conflict => conflict.doNothing())
    await records.write([{ write: row }])
  }
  return { ...seller, facsimile: `${prefix}${id}` }
}

/**
 * The image that a document is printed with, as a `data:` URL.
 * @throws DocumentError when the store does not have it
 */
export async function facsimileOf(
  records: RecordReader,
  { seller: { facsimile } }: PrintedDocument,
): Promise<string | undefined> {
  if (facsimile === undefined || facsimile.startsWith('data:')) return facsimile
  const id = facsimile.slice(prefix.length)
  const [row] = await records.all(records.build.selectFrom('facsimiles').select('image').where('id', '=', id))
  if (row !== undefined) return row.image
  throw new DocumentError(`the store has no image ${facsimile}`)
}
