import { documentName } from '../../../documents/document-name.ts'
import type { PrintedDocument } from '../../../documents/document.ts'
import { PrintError } from '../../../documents/print/document-printer.ts'
import type { Page, PageContext } from '../../page.ts'
import { showFailure } from '../../../web/pages/failure.ts'

/** RFC 6266, 4.3: the name as it is, and one of ASCII for whatever reads no other. */
function attachment(name: string, ending: string): string {
  const plain = `document.${ending}`
  const encoded = encodeURIComponent(`${name}.${ending}`).replaceAll(
    /['()*]/g,
    one => `%${one.charCodeAt(0).toString(16)}`,
  )
  return `attachment; filename="${plain}"; filename*=UTF-8''${encoded}`
}

/** A document as PDF. An account prints a few at a time: the printer is everybody's. */
export async function sendDocument(
  context: PageContext,
  page: Page,
  document: PrintedDocument,
  accountId: string,
): Promise<Response> {
  const { site } = page
  if (!(await site.printAttempts.begin(accountId))) return showFailure(context, page, 'tooOften')
  try {
    const bytes = await site.printer.print(document)
    return context.body(new Uint8Array(bytes), 200, {
      'content-type': 'application/pdf',
      'content-disposition': attachment(documentName(document), 'pdf'),
    })
  } catch (error) {
    if (!(error instanceof PrintError)) throw error
    site.log.error({ error, requestId: page.requestId }, 'a document could not be printed')
    return showFailure(context, page, 'unavailable')
  }
}
