import assert from 'node:assert/strict';
import { sourceHash } from '../../lib/http/plain-page.ts';
import { readProgramFile } from '../../lib/program-files.ts';

/** Concatenated in this order into one script: each part needs only those before it. */
const SCRIPTS = ['element', 'format', 'server', 'body-view', 'detail', 'editor', 'request-list', 'main'];

export interface InspectorPage {
  readonly html: string;
  readonly policy: string;
}

/** The self-contained page, and the content security policy that confines it. */
export function loadInspectorPage(token: string): InspectorPage {
  const style = read('page.css');
  const script = `\n${SCRIPTS.map((name) => asPart(read(`${name}.js`))).join('\n')}`;
  const html = [
    ['<link rel="stylesheet" href="page.css">', `<style>${style}</style>`],
    ['<script type="module" src="main.js"></script>', `<script type="module">${script}</script>`],
    ['content=""', `content="${token}"`],
  ].reduce((text, [from, to]) => replacedOnce(text, from as string, to as string), read('page.html'));
  const policy = [
    "default-src 'none'",
    `script-src ${sourceHash(script)}`,
    `style-src ${sourceHash(style)}`,
    "connect-src 'self'",
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    // Text from the network cannot become HTML: the browser itself rejects innerHTML and similar sinks.
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; ');
  return { html, policy };
}

function read(name: string): string {
  return readProgramFile(`agent/inspector/page/${name}`);
}

/** The files are modules for linters and readers. In the page they share one scope. */
function asPart(source: string): string {
  return source.replaceAll(/^import [^;]*;\n/gm, '').replaceAll(/^export /gm, '');
}

function replacedOnce(text: string, from: string, to: string): string {
  const pieces = text.split(from);
  assert(pieces.length === 2, `page.html must have ${from} once`);
  return pieces.join(to);
}
