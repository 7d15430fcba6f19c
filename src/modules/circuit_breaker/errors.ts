import { errorTable } from '../../kit/errors.ts';

/** Errors of routes with a circuit breaker. */
export const circuitBreakerErrors = errorTable({
  ERR_POSTERN_CIRCUIT_OPEN: {
    status: 503,
    explanation:
      'Too many requests to the backend have failed, so the circuit_breaker module of the route refuses requests for a while. Retry-After says how long.',
  },
});
