/** Words of paths by which providers let their customers' accounts be administered: people, keys, machines, bills. */
const words: ReadonlySet<string> = new Set(
  `admin billing certificate certificates credit credits deploy deployment deployments endpoint
    endpoints finetune finetunes finetuning invite invites invoice invoices key keys member members org
    organization organizations organisation organisations orgs payment payments project projects secret
    secrets tunes tuning user users workspace workspaces`.split(/\s+/),
)

/** Whether a path says a word of the provider's administration, in whatever case, and however often it is escaped. */
export function isControlPlane(path: string): boolean {
  const plain = unescaped(path)
  // `api_keys`, `fine-tuning` and `fineTuning` say it in a part of a segment.
  const parts = plain.replaceAll(/([a-z])([A-Z])/g, '$1 $2').toLowerCase()
  return parts.split(/[^a-z]+/).some(word => words.has(word))
}

function unescaped(path: string): string {
  let text = path
  for (let depth = 0; depth < 4 && text.includes('%'); depth += 1) {
    text = text.replaceAll(/%([0-9a-f]{2})/gi, (_whole, hex: string) =>
      String.fromCharCode(Number.parseInt(hex, 16)),
    )
  }
  return text
}
