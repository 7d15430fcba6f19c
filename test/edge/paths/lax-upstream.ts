import type { Cleanup } from '../../support/cleanup.ts';
import { recordingUpstream } from '../traffic/recording-upstream.ts';

/**
 * An upstream as lax as all common ones together: it ignores case (Express, IIS), trailing slashes (Express), trailing
 * dots and spaces (Windows), path parameters (Tomcat), decodes until nothing is left to decode, accepts overlong and
 * full-width forms, and then resolves dot segments. It responds with the page that it would serve.
 */
export async function laxUpstream(test: Cleanup): Promise<{ readonly address: string }> {
  const upstream = await recordingUpstream(test);
  upstream.answer = (request, response) => response.end(`page ${pageOf(request.url ?? '')}`);
  return upstream;
}

export function pageOf(url: string): string {
  let path = url.replace(/\?.*$/, '');
  for (let round = 0; round < 4; round += 1) {
    path = laxUtf8(Buffer.from(percentDecoded(path), 'latin1'));
    path = path
      .normalize('NFKC')
      .replace(/[?#\0].*$/s, '')
      .replaceAll('\\', '/')
      .replaceAll(/;[^/]*/g, '');
  }
  const segments: string[] = [];
  for (const segment of path.split('/')) {
    const name = /^\.{1,2} *$/.test(segment) ? segment.trim() : segment.replace(/[. ]+$/, '');
    if (name === '..') segments.pop();
    else if (name !== '' && name !== '.') segments.push(name);
  }
  return `/${segments.join('/')}`.toUpperCase().toLowerCase();
}

function percentDecoded(text: string): string {
  return text.replaceAll(/%([0-9a-f]{2})/gi, (_all, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}

/** Accepts overlong forms (RFC 3629 §3 forbids them), and keeps bytes that are not UTF-8. */
function laxUtf8(bytes: Buffer): string {
  let text = '';
  for (let at = 0; at < bytes.length; ) {
    const first = bytes[at] as number;
    const more = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : first >= 0xc0 ? 1 : 0;
    let code = more === 0 ? first : first & (0x3f >> more);
    for (let next = 1; next <= more; next += 1) code = (code << 6) | ((bytes[at + next] ?? 0) & 0x3f);
    text += code <= 0x10ffff ? String.fromCodePoint(code) : '?';
    at += more + 1;
  }
  return text;
}
