import { errorTable } from '../../kit/errors.ts';

/** Errors of routes that restrict addresses. */
export const ipRestrictionErrors = errorTable({
  ERR_POSTERN_ADDRESS_NOT_ALLOWED: {
    status: 403,
    explanation: "The IP policies of the route do not allow the client's address.",
  },
});
