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

/** Other programs read a port with leading zeros, or 0, as another port or as none. */
const AUTHORITY = /^[A-Za-z0-9._-]{1,253}(?::([1-9]\d{0,4}))?$/;
const MAX_PORT = 65_535;

/** Whether a text can be sent as Host: a name or an IPv4 address, with or without a port. */
export function isAuthority(text: string): boolean {
  const named = AUTHORITY.exec(text);
  return named !== null && Number(named[1] ?? 0) <= MAX_PORT;
}

/**
 * Why a path is not written in the one form that all programs read alike, as the end of "… was rejected: …"; null: it
 * is.
 */
export function pathProblem(target: string, path: string): string | null {
  const { refusal, odd } = readForm(target, path);
  return refusal ?? odd;
}

/** How a path is written. */
interface PathForm {
  /** Why no site gets it, as the end of "The request was rejected: …"; null: it may be forwarded. */
  readonly refusal: string | null;
  /** In which way programs differ about it, in the same words. It passes only where nothing depends on that. */
  readonly odd: string | null;
}

const PLAIN_FORM: PathForm = { refusal: null, odd: null };

/** `target` is the path with its query. */
export function readForm(target: string, path: string): PathForm {
  const refusal = writtenWrongly(target, path);
  if (refusal !== null) return { refusal, odd: null };
  const slashes = path.includes('%') ? path.replaceAll(/%2f|%5c/gi, '/') : path;
  const segments = slashes.includes('%') ? decodedForDots(slashes) : slashes;
  // Some upstreams drop tabs and line ends, or ";…" from a segment: they read "..%09" and "..;" as "..".
  if (/(?:^|\/)\.\.(?:;[^/]*)?(?:\/|$)/.test(segments)) return { refusal: DOTS, odd: null };
  const odd = oddity(path, slashes, segments);
  return odd === null ? PLAIN_FORM : { refusal: null, odd };
}

const DOTS = 'the path has "." or ".." segments';

function writtenWrongly(target: string, path: string): string | null {
  if (!path.startsWith('/')) return 'the path does not start with "/"';
  if (!isVisibleAscii(target)) return 'the path has characters that must be percent-encoded';
  if (target.includes('#')) return 'the path has a fragment';
  if (target.includes('\\')) return 'the path has a backslash';
  if (/%(?![0-9a-f]{2})/i.test(path)) return 'the path has a "%" that is not an escape';
  // Programs in C end a name there.
  return path.includes('%00') ? 'the path has control characters' : null;
}

function decodedForDots(slashes: string): string {
  return slashes
    .replaceAll(/%2e/gi, '.')
    .replaceAll(/%3b/gi, ';')
    .replaceAll(/%(?:[01][0-9a-f]|7f)/gi, '');
}

function oddity(path: string, slashes: string, segments: string): string | null {
  if (path.includes('%')) {
    if (/%5c/i.test(path)) return 'the path has a backslash';
    if (/%(?:[01][0-9a-f]|7f)/i.test(path)) return 'the path has control characters';
  }
  if (slashes.includes('//')) return 'the path has an empty segment';
  if (/\/\.(?:;[^/]*)?(?:\/|$)/.test(segments)) return DOTS;
  return segments.includes('/;') ? 'the path has a segment that consists only of parameters' : null;
}

export function isVisibleAscii(text: string): boolean {
  return /^[\x21-\x7e]*$/.test(text);
}

/**
 * The form of a path in which it is compared: percent-decoded except for `%2F`. One byte per character: two spellings
 * of one path give one key, in any encoding.
 */
export function matchKey(path: string): string {
  if (!path.includes('%')) return path;
  // `unescape` is fifteen times as fast as a function that is called for each escape. It also knows `%uXXXX`, which no
  // URL has.
  return unescape(path.replaceAll(/%2f/gi, '%252F').replaceAll('%u', '%25u'));
}
