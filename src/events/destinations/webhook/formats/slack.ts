import { type ChatText, clipped } from './chat-text.ts';

/** Limit of the text of a section block. */
const MAX_TEXT = 3_000;

/** An incoming webhook of Slack. `plain_text` knows no mentions, links or emphasis; the fallback text has markup. */
export function slackBody({ title, lines }: ChatText): string {
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
