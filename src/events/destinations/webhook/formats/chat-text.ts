import type { JsonObject, JsonValue } from '../../../../lib/json.ts';

/** An event as a person reads it in a chat. Everything in it may come from a stranger: each format makes it inert. */
export interface ChatText {
  readonly title: string;
  readonly lines: readonly string[];
}

const MAX_LINES = 12;
const MAX_LINE = 300;
/** Controls, and characters that reverse the direction of text or are not seen. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu;

/** The envelope of an event as text: what alerts say, and the plain fields of every other object. */
export function chatText(envelope: string): ChatText {
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
export function clipped(text: string, max: number): string {
  return text.length <= max ? text : `${text.slice(0, max - 1).replace(/[\ud800-\udbff]$/, '')}…`;
}

function isPlain(value: JsonValue | undefined): value is string | number | boolean {
  return (typeof value === 'string' && value !== '') || typeof value === 'number' || typeof value === 'boolean';
}

function plain(value: JsonValue | undefined): string {
  return isPlain(value) ? clipped(String(value).replaceAll(UNSEEN, ' '), MAX_LINE) : '';
}
