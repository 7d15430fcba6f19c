import { type ChatText, clipped } from './chat-text.ts';

/** A message may have about 28 KB; a character takes up to 6 bytes as JSON. */
const MAX_TEXT = 3_000;

/** A workflow of Microsoft Teams, with an adaptive card. A `TextRun` has no Markdown, unlike a `TextBlock`. */
export function teamsBody({ title, lines }: ChatText): string {
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
