import { knownProviders } from '../providers/known-providers.ts'
import type { Config, ProviderConfig } from './config.ts'

/** `/v1`, `/v1beta`, `/api/v4`: nearly every base URL contains a version. */
const version = /\/v\d+[a-z]*(?:\/|$)/

/**
 * The base URLs of a provider whose path has no version, by dialect. Built-in URLs are the provider's own and are
 * skipped.
 */
export function versionlessBases({ name, dialects }: ProviderConfig): readonly (readonly [string, URL])[] {
  const own = Object.entries(dialects).map(([dialect, { baseUrl }]) => [dialect, baseUrl] as const)
  const known = knownProviders.get(name)?.dialects
  return own.filter(
    ([dialect, { href, pathname }]) =>
      !version.test(pathname) &&
      href !== new URL(known?.[dialect as keyof typeof known] ?? 'about:blank').href,
  )
}

/** The notices of `gateway check` about them. */
export function versionlessNotices({ providers }: Pick<Config, 'providers'>): readonly string[] {
  return [...providers.values()]
    .filter(({ isOff }) => !isOff)
    .flatMap(provider =>
      versionlessBases(provider).map(
        ([dialect, { href }]) =>
          `providers.${provider.name}.dialects.${dialect}.baseUrl is ${href}, without a version such as ` +
          `${dialect === 'google' ? '/v1beta' : '/v1'}, which most servers want in it`,
      ),
    )
}
