interface Address {
  readonly url: string
  readonly key: string
}

/** A tool as the emulator's model calls it. */
export interface CalledTool {
  readonly name: string
  readonly arguments: object
  /** Set where the provider ends such a response differently from the emulator: Google says STOP, as for any other. */
  readonly finishReason?: string
}

/** A client: how it is installed, how it is set up by docs/clients.md, and how it is given a prompt. */
export interface Client {
  readonly name: string
  readonly title: string
  /** The folder of its installation; its name unless several clients share one. */
  readonly folder?: string
  readonly packages: readonly string[]
  /** Whether its packages are installed by pip, where that is available. */
  readonly isPython?: boolean
  readonly afterInstall?: readonly string[]
  /** Where its own source names the models that it knows, below node_modules. */
  readonly models?: {
    readonly files: string
    /** Its first group is a name. */
    readonly name: RegExp
    readonly isNewestOnly?: boolean
  }
  /** A harmless tool, as the model calls it. */
  readonly tool: CalledTool
  /** A module that sends its last argument as the prompt; or a command below. */
  readonly script?: string
  /** Settings files below the home folder. */
  files?(address: Address): Readonly<Record<string, string>>
  env?(address: Address): Readonly<Record<string, string>>
  command?(prompt: string): readonly string[]
}
