import { isJsonObject, type JsonObject } from '../../../../kit/json.ts';

export interface SitePath {
  readonly matchType: 'exact_path' | 'path_prefix';
  readonly match: string;
}

/** What a handler did to the path before a request is answered. */
export type Rewrite = { readonly strip: string } | { readonly uri: string } | 'unknown';

/** A rule of `rewrite` or `redirect`. */
export type ImportedRule = JsonObject & { readonly match: string; readonly to: string };

/** After an earlier one. Only one change of one kind has a place. */
export function nextRewrite(before: Rewrite | null, { handler: _handler, ...fields }: JsonObject): Rewrite {
  const [only, ...others] = Object.entries(fields);
  if (before !== null || only === undefined || others.length > 0) return 'unknown';
  const [name, value] = only;
  // Placeholders, and what Postern would read as a group.
  if (typeof value !== 'string' || /[{}$#]/.test(value) || !value.startsWith('/')) return 'unknown';
  if (name === 'strip_path_prefix') return { strip: value.replace(/\/$/, '') };
  return name === 'uri' ? { uri: value } : 'unknown';
}

/** The rule that does the same for the requests of a path; null: there is none. */
export function rewriteRule(rewrite: Rewrite, { matchType, match }: SitePath): ImportedRule | null {
  if (rewrite === 'unknown') return null;
  // Caddy keeps the query too, unless the new address has one.
  if ('uri' in rewrite) return { match_type: 'regex', match: '^/', to: rewrite.uri };
  const isInside = match.startsWith(`${rewrite.strip}/`);
  return isInside ? { match_type: matchType, match, to: match.slice(rewrite.strip.length) } : null;
}

const STATUSES = [301, 302, 307, 308];
const LOCATION = /^(https?:\/\/[a-z0-9.-]+(?::\d+)?)\{http\.request\.uri(\.path)?\}$/i;

/** A response that sends visitors to the same path of another site, as `redir https://example.com{uri}` does. */
export function redirectOf(handler: JsonObject): ((path: SitePath) => ImportedRule) | null {
  const { handler: name, status_code: status, headers, ...others } = handler;
  const [only, ...more] = Object.entries(isJsonObject(headers) ? headers : {});
  const code = Number(status ?? 200);
  if (name !== 'static_response' || Object.keys(others).length > 0 || more.length > 0) return null;
  if (!STATUSES.includes(code) || only?.[0].toLowerCase() !== 'location') return null;
  const [location, ...second] = Array.isArray(only[1]) ? only[1] : [];
  const [, origin, withoutQuery] = LOCATION.exec(typeof location === 'string' ? location : '') ?? [];
  if (origin === undefined || second.length > 0) return null;
  return ({ matchType, match }) => ({
    match_type: matchType,
    match,
    to: `${origin}${match}${withoutQuery === undefined ? '' : '?'}`,
    status_code: code,
  });
}

/** Caddy ignores case in paths. */
export function coversPath(wide: SitePath, { match, matchType }: SitePath): boolean {
  const [around, path] = [wide.match.toLowerCase(), match.toLowerCase()];
  if (wide.matchType === 'path_prefix') return path.startsWith(around);
  return matchType === 'exact_path' && path === around;
}

/** What `match` of a rule may have. */
const MAX_PATTERN_LENGTH = 1_024;
/** A pattern grows with the square of the characters that it tells apart. */
const MAX_PART = 24;

/**
 * Redirects for the route of a wider path: requests that Caddy counts to this path, and Postern does not, are led to
 * it. Caddy ignores case, and decodes "%2F" before it compares. None matches the path itself, which would count as a
 * loop. Null: there are no such rules.
 */
export function guardRules({ matchType, match }: SitePath): readonly ImportedRule[] | null {
  const isPrefix = matchType === 'path_prefix';
  const characters = match.slice(1).split('');
  const to = match.replaceAll('$', '$$$$') + (isPrefix ? '$1' : '');
  const rules: ImportedRule[] = [];
  for (let at = 0; at < characters.length; at += MAX_PART) {
    const end = at + MAX_PART;
    const others = otherSpellings(characters.slice(at, end));
    if (others === '') continue;
    const before = characters.slice(0, at).map(spelling).join('');
    const after = characters.slice(end).map(anySpelling).join('');
    const pattern = `^/${before}${others}${after === '' ? '' : `(?i:${after})`}${isPrefix ? '(.*)' : ''}$`;
    if (pattern.length > MAX_PATTERN_LENGTH) return null;
    rules.push({ match_type: 'regex', match: pattern, to, status_code: 308 });
  }
  return rules;
}

/** A pattern for every spelling but the written one; empty: there is no other. */
function otherSpellings(characters: readonly string[]): string {
  let [others, rest] = ['', ''];
  for (const character of characters.toReversed()) {
    const other = otherSpelling(character);
    const here = other === null ? '' : `${other}${rest === '' ? '' : `(?i:${rest})`}`;
    const later = others === '' ? '' : `${spelling(character)}${others}`;
    others = here === '' || later === '' ? here + later : `(?:${here}|${later})`;
    rest = anySpelling(character) + rest;
  }
  return others;
}

/** In a pattern that reads paths in which letters and "-._~" are decoded. */
function spelling(character: string): string {
  if (/[\w~/-]/.test(character)) return character;
  const plain = `\\${character}`;
  if (character === '.') return plain;
  return `(?:${plain}|%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')})`;
}

function otherSpelling(character: string): string | null {
  if (character === '/') return '%2F';
  if (!/[a-z]/i.test(character)) return null;
  const other = character === character.toLowerCase() ? character.toUpperCase() : character.toLowerCase();
  // The Kelvin sign, which is "k" in lower case.
  return /k/i.test(character) ? `(?:${other}|%E2%84%AA)` : other;
}

function anySpelling(character: string): string {
  if (character === '/') return '(?:/|%2F)';
  return /k/i.test(character) ? '(?:k|%E2%84%AA)' : spelling(character);
}
