/** What providers write around a request that is not in it: the turns, and instructions for tools. */
const aroundTokens = 64
/** Of providers that write instructions of their own before it, as recorded. */
const ownInstructions: ReadonlyMap<string, number> = new Map([['venice', 2048]])
const aroundToolsTokens = 1024

/** What a provider writes around so many requests, in which so many tools are explained. */
export function tokensAround(
  providerKind: string,
  { requests, explained }: { readonly requests: number; readonly explained: number },
): number {
  const each = aroundTokens + (ownInstructions.get(providerKind) ?? 0)
  return requests * each + explained * aroundToolsTokens
}
