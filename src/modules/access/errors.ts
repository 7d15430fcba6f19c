import { errorTable } from '../../lib/errors.ts';

/** Errors of routes with access rules. */
export const accessErrors = errorTable({
  ERR_POSTERN_ACCESS_DENIED: {
    status: 403,
    explanation:
      'The requester is known, and the access rules of the route do not let this account in. `postern access test` shows which rule decides.',
  },
  ERR_POSTERN_ACCESS_LOGIN_NEEDED: {
    status: 403,
    explanation:
      'The route has access rules and no login module, so only programs and guests can pass. To let people in, set a login module on the route.',
  },
});
