import { errorTable } from '../../kit/errors.ts';

/** Errors of edges that require client certificates. */
export const mutualTlsErrors = errorTable({
  ERR_POSTERN_CLIENT_CERTIFICATE: {
    status: 421,
    explanation: 'The connection has no client certificate that the edge accepts. Reconnect with one.',
  },
});
