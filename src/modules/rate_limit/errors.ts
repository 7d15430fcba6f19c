import { errorTable } from '../../kit/errors.ts';

/** Errors of routes that limit requests. */
export const rateLimitErrors = errorTable({
  ERR_POSTERN_TOO_MANY_REQUESTS: {
    status: 429,
    explanation:
      'A limit of the rate_limit module of the route is used up. Retry-After says how many seconds later the next request can pass.',
  },
});
