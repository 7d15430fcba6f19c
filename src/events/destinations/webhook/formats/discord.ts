import { type ChatText, clipped } from './chat-text.ts';

/** Limit of the content of a message. */
const MAX_CONTENT = 2_000;
const FENCE = '```';
const SUPPRESS_EMBEDS = 4;

/** A webhook of Discord. In a code block nothing is markup or a link; no text may mention anybody. */
export function discordBody({ title, lines }: ChatText): string {
  const text = [title, ...lines].join('\n').replaceAll('`', "'");
  const room = MAX_CONTENT - 2 * FENCE.length - 2;
  return JSON.stringify({
    content: `${FENCE}\n${clipped(text, room)}\n${FENCE}`,
    allowed_mentions: { parse: [] },
    flags: SUPPRESS_EMBEDS,
  });
}
