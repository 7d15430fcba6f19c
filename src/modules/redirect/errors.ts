import { errorTable } from '../../kit/errors.ts';

/** Errors of routes that redirect. */
export const redirectErrors = errorTable({
  ERR_POSTERN_REDIRECT_REFUSED: {
    status: 400,
    explanation:
      'A rule of the redirect module matches the path, but its result is no valid address, or the path is too long for its regular expression. Nobody was redirected.',
  },
});
