import type { JsonObject, JsonValue } from '../../../../kit/json.ts';

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

/** CloudEvents 1.0, JSON format, structured mode. `data` is the event as the format `json` sends it. */
function cloudEventBody(envelope: string): string {
  const event = JSON.parse(envelope) as JsonObject;
  const { id } = (event['object'] ?? {}) as JsonObject;
  return JSON.stringify({
    specversion: '1.0',
    id: event['event_id'],
    // Source and id together are unique: the account is the installation.
    source: `urn:postern:${event['account_id'] as string}`,
    type: event['event_type'],
    time: event['event_timestamp'],
    ...(typeof id === 'string' && id !== '' && { subject: id }),
    datacontenttype: 'application/json',
    data: event,
  });
}

/** An event as a person reads it in a chat. Everything in it may come from a stranger: each format makes it inert. */
interface ChatText {
  readonly title: string;
  readonly lines: readonly string[];
}

const MAX_LINES = 12;
const MAX_LINE = 300;
/** Controls, and characters that reverse the direction of text or are not seen. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu;

/** The envelope of an event as text: what alerts say, and the plain fields of every other object. */
function chatText(envelope: string): ChatText {
  const event = JSON.parse(envelope) as JsonObject;
  const object = (event['object'] ?? {}) as JsonObject;
  const type = plain(event['event_type']);
  const { title, status } = object;
  if (type.startsWith('alert_')) {
    const lines = [
      `since: ${plain(object['raised_at'])}`,
      `kind: ${plain(object['kind'])}`,
      `node: ${plain(object['node'])}`,
    ];
    return { title: `${status === 'resolved' ? 'Resolved' : 'Alert'}: ${plain(title)}`, lines };
  }
  const lines = Object.entries(object).filter(([, value]) => isPlain(value));
  return {
    title: type,
    lines: lines.slice(0, MAX_LINES).map(([name, value]) => `${plain(name)}: ${plain(value)}`),
  };
}

/** At most this many UTF-16 units, and no half of a pair at the end. */
function clipped(text: string, max: number): string {
  return text.length <= max ? text : `${text.slice(0, max - 1).replace(/[\ud800-\udbff]$/, '')}…`;
}

function isPlain(value: JsonValue | undefined): value is string | number | boolean {
  return (typeof value === 'string' && value !== '') || typeof value === 'number' || typeof value === 'boolean';
}

function plain(value: JsonValue | undefined): string {
  return isPlain(value) ? clipped(String(value).replaceAll(UNSEEN, ' '), MAX_LINE) : '';
}

/** Limit of the content of a message. */
const MAX_CONTENT = 2_000;
const FENCE = '```';
const SUPPRESS_EMBEDS = 4;

/** A webhook of Discord. In a code block nothing is markup or a link; no text may mention anybody. */
function discordBody({ title, lines }: ChatText): string {
  const text = [title, ...lines].join('\n').replaceAll('`', "'");
  const room = MAX_CONTENT - 2 * FENCE.length - 2;
  return JSON.stringify({
    content: `${FENCE}\n${clipped(text, room)}\n${FENCE}`,
    allowed_mentions: { parse: [] },
    flags: SUPPRESS_EMBEDS,
  });
}

/** Limit of the text of a section block. */
const MAX_TEXT = 3_000;

/** An incoming webhook of Slack. `plain_text` knows no mentions, links or emphasis; the fallback text has markup. */
function slackBody({ title, lines }: ChatText): string {
  const text = clipped([title, ...lines].join('\n'), MAX_TEXT);
  return JSON.stringify({
    text: escaped(title),
    blocks: [{ type: 'section', text: { type: 'plain_text', text, emoji: false } }],
    unfurl_links: false,
    unfurl_media: false,
  });
}

/** The three characters that begin markup, such as `<!channel>` and `<https://…|text>`. */
function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

/** A workflow of Microsoft Teams, with an adaptive card. A `TextRun` has no Markdown, unlike a `TextBlock`. */
function teamsBody({ title, lines }: ChatText): string {
  const run = (text: string, weight: 'Bolder' | 'Default') => ({
    type: 'RichTextBlock',
    inlines: [{ type: 'TextRun', text, weight }],
  });
  const body = [run(title, 'Bolder'), run(clipped(lines.join('\n'), MAX_TEXT), 'Default')];
  const content = {
    $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
    type: 'AdaptiveCard',
    version: '1.4',
    body,
  };
  return JSON.stringify({
    type: 'message',
    attachments: [{ contentType: 'application/vnd.microsoft.card.adaptive', contentUrl: null, content }],
  });
}
