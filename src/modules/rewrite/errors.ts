import { errorTable } from '../../kit/errors.ts';

/** Errors of routes that rewrite paths, beside ERR_POSTERN_BAD_PATH of the edge. */
export const rewriteErrors = errorTable({
  ERR_POSTERN_REWRITE_REFUSED: {
    status: 400,
    explanation:
      'A rule of the rewrite module matches the path, but its result is no valid path, or the path is too long for its regular expression. The request was not forwarded.',
  },
});
