import { errorTable } from '../lib/errors.ts';

/** What modules answer to traffic. */
export const moduleErrors = errorTable({
  ERR_POSTERN_MODULE_UNAVAILABLE: {
    status: 503,
    explanation:
      'A module of the route is enabled but cannot be applied, so the route lets nothing through. The API, the metrics and the log say which module and why.',
  },
  ERR_POSTERN_ADDRESS_NOT_ALLOWED: {
    status: 403,
    explanation: "The client's address is not allowed by the route's IP policies.",
  },
  ERR_POSTERN_CLIENT_CERTIFICATE: {
    status: 421,
    explanation: 'The connection lacks a valid client certificate that the edge accepts. Connect anew with one.',
  },
});
