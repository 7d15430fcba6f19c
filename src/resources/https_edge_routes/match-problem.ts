import { readPath } from '../../snapshot/canonical-path.ts';

const MAX_MATCH_LENGTH = 2048;

/**
 * The problem with a route's path, or null. It is parsed as the edge parses a request's path: a path that the edge
 * rejects could never match.
 */
export function matchProblem(match: string): string | null {
  if (!match.startsWith('/')) return 'must start with "/"';
  if (match.length > MAX_MATCH_LENGTH) return `must have at most ${MAX_MATCH_LENGTH} characters`;
  if (/[?#]/.test(match)) return 'must be a path without "?" or "#"';
  const reading = readPath(match);
  const wrong = reading.ok ? reading.path.odd : reading.message;
  if (!reading.ok || wrong !== null) return `can never match, because the edge rejects such requests: ${wrong}`;
  // Its other reading does not lie below it, whatever follows: every request for it would be ambiguous.
  if (reading.path.otherKeys.length > 0)
    return 'can never match, because the edge rejects ambiguous paths: remove ";" and "%2F"';
  return null;
}
