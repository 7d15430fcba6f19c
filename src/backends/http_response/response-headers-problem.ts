import { HOP_BY_HOP } from '../../lib/http/hop-by-hop.ts';

/** The edge computes framing, and nobody may forge its own headers. */
const NOT_ALLOWED = new RegExp(`^(content-length|proxy-.*|postern-.*|${HOP_BY_HOP.join('|')})$`, 'i');

/** The problem with the headers of a fixed response, or null. RFC 9110 §5.1 and §5.5. */
export function responseHeadersProblem(headers: Readonly<Record<string, string>>): string | null {
  const seen = new Set<string>();
  for (const [name, value] of Object.entries(headers)) {
    if (!/^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,256}$/.test(name)) return 'has an invalid header name';
    if (NOT_ALLOWED.test(name)) return `must not set "${name}": the edge sets it`;
    if (seen.has(name.toLowerCase())) return `has "${name}" twice: header names are case-insensitive`;
    if (value.length > 8192 || !/^[\t\x20-\x7e\x80-\xff]*$/.test(value) || value !== value.trim()) {
      return `has a value for "${name}" with control characters, characters outside Latin-1, leading or trailing spaces, or more than 8192 characters`;
    }
    seen.add(name.toLowerCase());
  }
  return null;
}
