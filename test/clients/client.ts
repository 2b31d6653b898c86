interface Address {
  readonly url: string
  readonly key: string
}

/** A tool as the emulator's model calls it. */
export interface CalledTool {
  readonly name: string
  readonly arguments: object
  /** Where the provider ends such an answer otherwise than the emulator: Google says STOP, as of any other. */
  readonly finishReason?: string
}

/** A client: what is installed, how it is set up by docs/clients.md, and how it is asked one thing. */
export interface Client {
  readonly name: string
  readonly title: string
  /** Where it is installed; its name unless several share one. */
  readonly folder?: string
  readonly packages: readonly string[]
  /** They are pip's, where that is at hand. */
  readonly isPython?: boolean
  readonly afterInstall?: readonly string[]
  /** Where its own source names the models that it knows, below node_modules. */
  readonly models?: {
    readonly files: string
    /** Its first group is a name. */
    readonly name: RegExp
    readonly isNewestOnly?: boolean
  }
  /** A tool that harms nobody, as the model calls it. */
  readonly tool: CalledTool
  /** A module that asks what its last argument says; or a command below. */
  readonly script?: string
  /** Settings files below the home folder. */
  files?(address: Address): Readonly<Record<string, string>>
  env?(address: Address): Readonly<Record<string, string>>
  command?(prompt: string): readonly string[]
}
