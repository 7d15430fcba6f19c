import Type from 'typebox';
import { readPath } from '../../kit/http/canonical-path.ts';
import { matchKey } from '../../kit/http/urls.ts';
import { bodyProblem } from '../../kit/schema/decode-body.ts';
import { defineRoutes } from '../edge-kind.ts';

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
  // The path's other reading does not lie below it, whatever follows: every request for it would be ambiguous.
  if (reading.path.otherKeys.length > 0)
    return 'can never match, because the edge rejects ambiguous paths: remove ";" and "%2F"';
  return null;
}

const MODULES = 'set the modules of the route, such as access and ip_restriction';

/** How an edge handles requests for a path. */
export const httpsRoutes = defineRoutes({
  idPrefix: 'edghtsrt',
  title: 'a route of an HTTPS edge',
  description: 'A path of an edge, with the modules that process its requests.',
  passes: ['requests'],
  otherNames: {
    leftOutIfEmptyOnPatch: ['description', 'metadata'],
    retired: { saml: 'use the oidc or the oauth module for logins', traffic_policy: MODULES, policy: MODULES },
  },
  config: Type.Object({
    match_type: Type.Enum(['exact_path', 'path_prefix'], {
      description:
        'How "match" is compared: "exact_path" or "path_prefix". An exact path takes precedence over a prefix, and a longer prefix over a shorter one.',
    }),
    match: Type.String({
      minLength: 1,
      description:
        'The path, starting with "/", without a query, percent-encoded as clients send it. A prefix is compared as text: "/admin" also matches "/administrator". A request whose path an upstream may interpret as this one, such as "/ADMIN" for "/admin", is rejected if a route with different access modules would serve it (setting ambiguous_paths).',
    }),
  }),
  example: { match_type: 'path_prefix', match: '/' },
  check: (config) => {
    const problem = matchProblem(config.match);
    return problem === null ? [] : [bodyProblem('match', problem)];
  },
  // The canonical path: two spellings of one path are one route.
  keyOf: (config) => `${config.match_type} ${matchKey(config.match)}`,
  keyField: 'match',
});
