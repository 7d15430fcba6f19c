import type { EdgeErrorCode } from './errors.ts';

/** Why no route serves a path: code, log value, message for the visitor. */
export const UNMATCHED = {
  none: ['ERR_POSTERN_NO_ROUTE', 'no_route', 'There is nothing at this address.'],
  ambiguous: [
    'ERR_POSTERN_BAD_PATH',
    'ambiguous_path',
    'The path can be read in two ways. Write it without escaped slashes and parameters.',
  ],
  other_access: [
    'ERR_POSTERN_BAD_PATH',
    'ambiguous_access',
    'The path is close to one of this site with other access rules. Check upper and lower case, the slash at the end, and escapes.',
  ],
} as const satisfies Readonly<Record<string, readonly [EdgeErrorCode, string, string]>>;
