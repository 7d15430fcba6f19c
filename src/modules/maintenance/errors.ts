import { errorTable } from '../../kit/errors.ts';

/** Errors of routes that are paused. */
export const maintenanceErrors = errorTable({
  ERR_POSTERN_MAINTENANCE: {
    status: 503,
    explanation:
      'The site is paused: the maintenance module of the route answers everybody whose address it does not let through. Retry-After says when to try again.',
  },
});
