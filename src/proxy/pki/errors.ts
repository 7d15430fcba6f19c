import { errorTable } from '../../kit/errors.ts';

export const pkiErrors = errorTable({
  ERR_POSTERN_INTERNAL_CA: {
    status: 500,
    explanation:
      'An internal CA, or the copy of its certificate in the data directory, is missing or damaged. The server creates a missing one at startup. Restore a damaged one from a backup: clients would have to trust a new one.',
  },
  ERR_POSTERN_API_CERTIFICATE: {
    status: 503,
    explanation: 'The files of api_tls_cert and api_tls_key cannot be read, or the key does not match the certificate.',
  },
});
