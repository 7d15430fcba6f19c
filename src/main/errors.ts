import { errorTable } from '../lib/errors.ts';

export const mainErrors = errorTable({
  ERR_POSTERN_LISTEN: {
    status: 503,
    explanation:
      'A listener could not be opened: its port is in use, or its address does not belong to this machine. The message names the setting.',
  },
  ERR_POSTERN_API_CERTIFICATE: {
    status: 503,
    explanation: 'The files of api_tls_cert and api_tls_key cannot be read, or do not belong together.',
  },
  ERR_POSTERN_DATA_DIR: {
    status: 503,
    explanation: 'The data directory cannot be created or used by this user.',
  },
  ERR_POSTERN_COMMAND: {
    status: 400,
    explanation: 'There is no command of this name. `postern --help` lists them.',
  },
});
