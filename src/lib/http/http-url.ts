export const HTTP_URL_FORM = 'an absolute http:// or https:// URL without user, query or fragment';

/** Returns the URL without its trailing slash, because paths are appended to it; null for anything else. */
export function parseHttpUrl(value: string): string | null {
  if (!URL.canParse(value)) return null;
  const url = new URL(value);
  const isPlain = url.username === '' && url.password === '' && url.search === '' && url.hash === '';
  return isPlain && /^https?:$/.test(url.protocol) ? withoutSlashesAtEnd(`${url.origin}${url.pathname}`) : null;
}

/** By index: a regular expression takes quadratic time on "////x". */
function withoutSlashesAtEnd(text: string): string {
  let end = text.length;
  while (text[end - 1] === '/') end -= 1;
  return text.slice(0, end);
}
