import type { Test } from 'tap'
import type { ClientGateway } from './client-gateway.ts'
import type { SeenFault } from './client-tables.ts'

/** What is asked, and whether with a key of an account without money. */
const faults = [
  { fault: '402', prompt: 'Ask without money.', isPoor: true },
  { fault: '429', prompt: 'Ask too fast.', isPoor: false },
  { fault: '501', prompt: 'Ask for what is not there.', isPoor: false },
  { fault: 'cut', prompt: 'Be cut off.', isPoor: false },
]

/** How long a client may try again before it is left. */
const patienceMs = 45_000

export type Ask = (
  prompt: string,
  key: string,
  timeoutMs: number,
) => Promise<{ readonly code: number | null; readonly output: string }>

/**
 * Has a client meet each way of going wrong, in a gateway and a home of its own. One after the other: several that start
 * at once are so slow that some ask nothing before they are left.
 */
export async function seeFaults(
  t: Test,
  start: () => Promise<{ readonly gateway: ClientGateway; readonly ask: Ask }>,
): Promise<readonly SeenFault[]> {
  const seen: SeenFault[] = []
  for (const { fault, prompt, isPoor } of faults) {
    const { gateway, ask } = await start()
    const { code, output } = await ask(prompt, isPoor ? gateway.poorKey : gateway.key, patienceMs)
    const said = code === null ? `nothing yet after ${patienceMs / 1000} s` : sayingOf(output, gateway.url)
    t.ok(gateway.tries() > 0, `${fault} is met`)
    t.same(await gateway.breaches(), [], 'and the ledger is in order')
    seen.push({ fault, tries: gateway.tries(), said })
  }
  return seen
}

/** The line that says what was wrong, without what differs between two runs. */
function sayingOf(output: string, url: string): string {
  const lines = output
    // oxlint-disable-next-line no-control-regex -- colours of a terminal
    .replaceAll(/\u001b\[[\d;]*[A-Za-z]/g, '')
    .replaceAll(url, 'https://gateway.example')
    .replaceAll(/[0-9a-z]{26}|[0-9a-f]{8}-[0-9a-f-]{27}/g, 'ID')
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.-]+Z?/g, 'TIME')
    .replaceAll(/\d+\.\d{4,}/g, 'N')
    .split('\n')
    .map(line => line.trim())
    // Neither the stack of an error nor its fields.
    .filter(line => line !== '' && !/^(?:at |Symbol\(|\w+: (?:'\w+'|null|\w+),?$)/.test(line))
  const telling = lines.filter(line => /rror|disconnect|clos|terminated|incomplete|The quick/.test(line))
  const line =
    lines.find(one => /roubles|60 requests|not in this|connection to the provider/.test(one)) ??
    lines.find(one => /\b(?:402|429|501|502)\b/.test(one)) ??
    telling.at(-1) ??
    lines.at(-1)
  const plain = (line ?? 'nothing').replaceAll('|', '/').replaceAll('`', "'")
  return plain.length > 120 ? `${plain.slice(0, 119)}…` : plain
}
