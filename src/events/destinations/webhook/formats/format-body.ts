import { chatText } from './chat-text.ts';
import { discordBody } from './discord.ts';
import { slackBody } from './slack.ts';
import { teamsBody } from './teams.ts';

export const WEBHOOK_FORMATS = ['json', 'slack', 'discord', 'teams'] as const;
export type WebhookFormat = (typeof WEBHOOK_FORMATS)[number];

/** The body that the receiver understands. `json`: the envelope itself. */
export function formatBody(format: WebhookFormat, envelope: string): string {
  switch (format) {
    case 'json':
      return envelope;
    case 'slack':
      return slackBody(chatText(envelope));
    case 'discord':
      return discordBody(chatText(envelope));
    case 'teams':
      return teamsBody(chatText(envelope));
  }
}
