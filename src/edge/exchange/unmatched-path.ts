import type { EdgeErrorCode } from '../errors.ts';

/** Why no route serves a path: code, log value, message for the visitor. */
export const UNMATCHED = {
  none: ['ERR_POSTERN_NO_ROUTE', 'no_route', 'There is no page at this address.'],
  ambiguous: [
    'ERR_POSTERN_BAD_PATH',
    'ambiguous_path',
    'The path is ambiguous. Remove escaped slashes and path parameters.',
  ],
  other_access: [
    'ERR_POSTERN_BAD_PATH',
    'ambiguous_access',
    'The path is similar to a path of this site with different access rules. Check upper and lower case, the trailing slash and escapes.',
  ],
} as const satisfies Readonly<Record<string, readonly [EdgeErrorCode, string, string]>>;
