import { documentName, type PrintedDocument } from '../../../documents/document.ts'
import { PrintError, printDocument } from '../../../documents/print/document-printer.ts'
import type { Page, PageContext } from '../../page.ts'
import { showFailure } from '../../../web/pages/failure.ts'

/** A file to be downloaded. */
interface Download {
  /** Without its ending. */
  readonly name: string
  readonly ending: 'pdf' | 'zip'
  readonly bytes: Uint8Array
}

/** RFC 6266, 4.3: the name as it is, and one of ASCII for whatever reads no other. */
function attachment(name: string, ending: string): string {
  const plain = `document.${ending}`
  const encoded = encodeURIComponent(`${name}.${ending}`).replaceAll(
    /['()*]/g,
    one => `%${one.charCodeAt(0).toString(16)}`,
  )
  return `attachment; filename="${plain}"; filename*=UTF-8''${encoded}`
}

/** What is printed for a download. An account prints a few at a time: the printer is everybody's. */
export async function sendPrinted(
  context: PageContext,
  page: Page,
  accountId: string,
  print: () => Promise<Download>,
): Promise<Response> {
  const { site } = page
  if (!(await site.printAttempts.begin(accountId))) return showFailure(context, page, 'tooOften')
  try {
    const { name, ending, bytes } = await print()
    return context.body(new Uint8Array(bytes), 200, {
      'content-type': `application/${ending}`,
      'content-disposition': attachment(name, ending),
    })
  } catch (error) {
    if (!(error instanceof PrintError)) throw error
    site.log.error({ error, requestId: page.requestId }, 'a document could not be printed')
    return showFailure(context, page, 'unavailable')
  }
}

/** A document as PDF. */
export function sendDocument(
  context: PageContext,
  page: Page,
  document: PrintedDocument,
  accountId: string,
): Promise<Response> {
  const { records, printer } = page.site
  return sendPrinted(context, page, accountId, async () => ({
    name: documentName(document),
    ending: 'pdf',
    bytes: await printDocument(records, printer, document),
  }))
}
