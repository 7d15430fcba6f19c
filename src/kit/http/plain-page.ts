import { hash } from 'node:crypto';

/**
 * System colors follow light, dark and forced-color modes automatically. The footer uses a color instead of opacity,
 * so that its contrast is known: more than 7:1 in both modes.
 */
const STYLE = `
:root{color-scheme:light dark}
body{font:1rem/1.5 system-ui,sans-serif;max-width:36rem;margin:0 auto;padding:16vh 1.5rem 2rem;background:Canvas;color:CanvasText;overflow-wrap:anywhere}
h1{font-size:1.5rem;line-height:1.25;margin:0 0 .75rem}
p{margin:.5rem 0}
.button{display:inline-block;font:inherit;line-height:1.5;padding:.55rem 1.25rem;margin-top:1rem;border:1px solid CanvasText;border-radius:.4rem;color:Canvas;background:CanvasText;text-decoration:none;cursor:pointer}
.button:hover{text-decoration:underline}
:focus-visible{outline:3px solid light-dark(#0b57d0,#a8c7fa);outline-offset:3px}
footer{margin-top:2.5rem;padding-top:.75rem;border-top:1px solid GrayText;font-size:.875rem;color:light-dark(#4a4a4a,#b8b8b8)}
code{font-family:ui-monospace,monospace}
`;

/** For a Content-Security-Policy: allows the style of these pages, and no other. */
export const PAGE_STYLE_SOURCE = sourceHash(STYLE);

export interface PlainPage {
  readonly title: string;
  /** HTML, like the other fields: the caller has escaped foreign text. */
  readonly body: string;
  readonly footer?: string;
  readonly head?: string;
  /** The only script of the page; see `sourceHash`. */
  readonly script?: string;
}

/** A self-contained HTML page for people. */
export function plainPage({ title, body, footer, head, script }: PlainPage): string {
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>${escapedHtml(title)}</title>
<style>${STYLE}</style>${head ?? ''}</head>
<body><main><h1>${escapedHtml(title)}</h1>
${body}
</main>${footer === undefined ? '' : `\n<footer>${footer}</footer>`}${script === undefined ? '' : `<script>${script}</script>`}</body></html>
`;
}

export function linkButton(label: string, href: string, id?: string): string {
  const idOf = id === undefined ? '' : ` id="${escapedHtml(id)}"`;
  return `<p><a class="button"${idOf} href="${escapedHtml(href)}">${escapedHtml(label)}</a></p>`;
}

export function escapedHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}

/** The hash source expression of an inline script or style for a Content-Security-Policy. */
export function sourceHash(source: string): string {
  return `'sha256-${hash('sha256', source, 'base64')}'`;
}
