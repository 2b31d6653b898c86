import { readFileSync } from 'node:fs'
import { createSecureContext } from 'node:tls'
import type { Config } from '../config/config.ts'
import { ConfigError } from '../config/config-error.ts'

/** A listener's certificate chain and key, in PEM. */
export interface Certificate {
  readonly cert: Buffer
  readonly key: Buffer
}

/**
 * Reads the files of `tls`; undefined where the config has none.
 * @throws ConfigError when they cannot be read or do not belong together
 */
export function readCertificate({ tls, file }: Pick<Config, 'tls' | 'file'>): Certificate | undefined {
  if (tls === undefined) return undefined
  try {
    const certificate = { cert: readFileSync(tls.cert), key: readFileSync(tls.key) }
    createSecureContext(certificate)
    return certificate
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new ConfigError([
      { file, path: 'tls', message: `no certificate with its key is in ${tls.cert}, ${tls.key}: ${reason}` },
    ])
  }
}
