import { isJsonObject, type JsonObject } from '../../../lib/json.ts';
import type { SitePath } from './caddy-sites.ts';

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
