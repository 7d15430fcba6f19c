import { errorTable } from '../../kit/errors.ts';

/** Errors of routes that filter user agents. */
export const userAgentFilterErrors = errorTable({
  ERR_POSTERN_USER_AGENT_NOT_ALLOWED: {
    status: 403,
    explanation:
      'The user_agent_filter module of the route does not allow the User-Agent of the request, or it has none.',
  },
});
