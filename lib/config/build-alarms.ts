import type { AlarmsSettings } from './alarms-schema.ts'
import type { AlarmsConfig } from './config.ts'
import type { Problems } from './problems.ts'
import type { Settings } from './schema.ts'

/** Who is told of alarms: letters have a server, and messages a way out. */
export function buildAlarms(
  { email, webhooks, except }: AlarmsSettings,
  { accountArea, egress }: Pick<Settings, 'accountArea' | 'egress'>,
  problems: Problems,
): AlarmsConfig {
  const mail = email?.mail ?? accountArea?.mail
  if (email !== undefined && mail === undefined) {
    problems.add(['alarms', 'email'], 'needs a mail server: write mail beside to, or accountArea.mail')
  }
  const ways = ['direct', ...Object.keys(egress)]
  for (const [name, webhook] of Object.entries(webhooks)) {
    if (webhook.egress === undefined || ways.includes(webhook.egress)) continue
    problems.addUnknown(['alarms', 'webhooks', name, 'egress'], 'egress', webhook.egress, ways)
  }
  return { ...(email && mail && { email: { to: email.to, mail } }), webhooks, except }
}
