import type { Config, ProviderConfig } from '../config/config.ts'
import type { SandboxProvider } from './sandbox-provider.ts'

/** Port 0 stands for the built-in sandbox, wherever it came to listen. */
function isBuiltIn(provider: ProviderConfig): boolean {
  return (
    provider.kind === 'sandbox' &&
    Object.values(provider.dialects).some(({ baseUrl }) => baseUrl.port === '0')
  )
}

/** Starts the built-in sandbox provider when the config names it; undefined otherwise. */
export async function startSandbox(config: Config): Promise<SandboxProvider | undefined> {
  if (![...config.providers.values()].some(isBuiltIn)) return undefined
  // Loaded only to try the gateway out.
  const { startSandboxProvider } = await import('./sandbox-provider.ts')
  return await startSandboxProvider()
}

/** The config with the sandbox's addresses filled in. */
export function withSandbox(config: Config, sandbox: SandboxProvider | undefined): Config {
  if (sandbox === undefined) return config
  const providers = new Map(config.providers)
  for (const provider of config.providers.values()) {
    if (!isBuiltIn(provider)) continue
    const dialects = Object.fromEntries(
      Object.entries(provider.dialects).map(([name, { baseUrl }]) => [
        name,
        { baseUrl: new URL(sandbox.origin + baseUrl.pathname) },
      ]),
    )
    const credentials = [{ name: `${provider.name}#1`, value: 'sandbox' }]
    providers.set(provider.name, { ...provider, dialects, credentials })
  }
  return { ...config, providers }
}
