import { chatText } from './chat-text.ts';
import { cloudEventBody } from './cloud-event.ts';
import { discordBody } from './discord.ts';
import { slackBody } from './slack.ts';
import { teamsBody } from './teams.ts';

export const WEBHOOK_FORMATS = ['json', 'cloudevents', 'slack', 'discord', 'teams'] as const;
export type WebhookFormat = (typeof WEBHOOK_FORMATS)[number];

/** Content-Type of a body in the format. */
export function contentTypeOf(format: WebhookFormat): string {
  return format === 'cloudevents' ? 'application/cloudevents+json; charset=utf-8' : 'application/json';
}

/** The body that the receiver understands. `json`: the envelope itself. */
export function formatBody(format: WebhookFormat, envelope: string): string {
  switch (format) {
    case 'json':
      return envelope;
    case 'cloudevents':
      return cloudEventBody(envelope);
    case 'slack':
      return slackBody(chatText(envelope));
    case 'discord':
      return discordBody(chatText(envelope));
    case 'teams':
      return teamsBody(chatText(envelope));
  }
}
