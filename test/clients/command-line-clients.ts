import type { Client } from './client.ts'

const shell = 'echo said-by-the-tool'
const codex = {
  folder: 'codex',
  packages: ['@openai/codex@0.169.0'],
  models: { files: '@openai/codex-*/vendor/*/bin/codex', name: /"slug": ?"((?:gpt-\d|codex-)[a-z0-9.-]*)"/g },
  tool: { name: 'exec_command', arguments: { cmd: shell } },
  command: (prompt: string) => [
    'codex',
    'exec',
    '--skip-git-repo-check',
    '--dangerously-bypass-approvals-and-sandbox',
    prompt,
  ],
}

export const commandLineClients: readonly Client[] = [
  {
    name: 'claude-code',
    title: 'Claude Code',
    packages: ['@anthropic-ai/claude-code@2.1.331'],
    models: {
      files: '@anthropic-ai/claude-code/bin/claude*',
      name: /(claude-(?:opus|sonnet|haiku|fable)-\d{1,2}(?:-\d{1,2})?)(?![\w-])/g,
      isNewestOnly: true,
    },
    afterInstall: ['node', 'node_modules/@anthropic-ai/claude-code/install.cjs'],
    tool: { name: 'Bash', arguments: { command: shell, description: 'Says something' } },
    env: ({ url, key }) => ({
      ANTHROPIC_BASE_URL: url,
      ANTHROPIC_AUTH_TOKEN: key,
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    }),
    command: prompt => ['claude', '-p', prompt, '--allowedTools', 'Bash'],
  },
  {
    name: 'codex-custom-provider',
    title: 'Codex, a provider of its own',
    ...codex,
    files: ({ url }) => ({
      '.codex/config.toml': `model_provider = "gateway"

[model_providers.gateway]
name = "gateway"
base_url = "${url}/v1"
env_key = "GATEWAY_KEY"
wire_api = "responses"
`,
    }),
    env: ({ key }) => ({ GATEWAY_KEY: key }),
  },
  {
    name: 'codex-built-in-provider',
    title: 'Codex, the built-in provider',
    ...codex,
    files: ({ url }) => ({ '.codex/config.toml': `openai_base_url = "${url}/v1"\n` }),
    env: ({ key }) => ({ OPENAI_API_KEY: key, CODEX_API_KEY: key }),
  },
  {
    name: 'gemini-cli',
    title: 'Gemini CLI',
    packages: ['@google/gemini-cli@0.61.0'],
    models: {
      files: '@google/gemini-cli/bundle/*.js',
      name: /(?:DEFAULT|PREVIEW)_GEMINI\w*MODEL\w* ?= ?"(gemini-[a-z0-9.-]+)"/g,
    },
    tool: { name: 'run_shell_command', arguments: { command: shell } },
    files: () => ({
      '.gemini/settings.json': JSON.stringify({ security: { auth: { selectedType: 'gemini-api-key' } } }),
    }),
    env: ({ url, key }) => ({
      GOOGLE_GEMINI_BASE_URL: url,
      GEMINI_API_KEY: key,
      GEMINI_CLI_TRUST_WORKSPACE: 'true',
    }),
    command: prompt => ['gemini', '--yolo', '-p', prompt],
  },
  {
    name: 'qwen-code',
    title: 'Qwen Code',
    packages: ['@qwen-code/qwen-code@0.24.4'],
    tool: { name: 'run_shell_command', arguments: { command: shell, is_background: false } },
    files: () => ({
      '.qwen/settings.json': JSON.stringify({ security: { auth: { selectedType: 'openai' } } }),
    }),
    env: ({ url, key }) => ({
      OPENAI_BASE_URL: `${url}/v1`,
      OPENAI_API_KEY: key,
      OPENAI_MODEL: 'gpt-5-mini',
    }),
    command: prompt => ['qwen', '--yolo', '-p', prompt],
  },
  {
    name: 'opencode',
    title: 'opencode',
    packages: ['opencode-ai@1.18.33'],
    afterInstall: ['node', 'node_modules/opencode-ai/postinstall.mjs'],
    tool: { name: 'bash', arguments: { command: shell, description: 'Says something' } },
    files: ({ url, key }) => ({
      '.config/opencode/opencode.json': JSON.stringify({
        model: 'anthropic/claude-sonnet-5',
        provider: { anthropic: { options: { baseURL: `${url}/v1`, apiKey: key } } },
        permission: { bash: 'allow' },
      }),
    }),
    command: prompt => ['opencode', 'run', prompt],
  },
  {
    name: 'continue',
    title: 'Continue (cn)',
    packages: ['@continuedev/cli@1.5.47'],
    tool: { name: 'Bash', arguments: { command: shell } },
    files: ({ url, key }) => ({
      '.continue/config.yaml': `name: gateway
version: 1.0.0
schema: v1
models:
  - name: gpt-5-mini
    provider: openai
    model: gpt-5-mini
    apiBase: ${url}/v1
    apiKey: ${key}
    roles: [chat]
    capabilities: [tool_use]
`,
    }),
    command: prompt => ['cn', '-p', '--auto', '--config', '.continue/config.yaml', prompt],
  },
]
