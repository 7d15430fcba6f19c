import { errorTable } from '../../kit/errors.ts';

export const configErrors = errorTable({
  ERR_POSTERN_CONFIG_UNKNOWN: {
    status: 400,
    explanation:
      'A flag, a POSTERN_ variable or a line of the configuration file names an unknown setting. The server did not start.',
  },
  ERR_POSTERN_CONFIG_VALUE: {
    status: 400,
    explanation:
      'A setting has an invalid value. The message says which values are allowed and where the value came from. The server did not start.',
  },
  ERR_POSTERN_CONFIG_FILE: {
    status: 400,
    explanation: 'The configuration file cannot be read or is not a YAML map of settings. The server did not start.',
  },
  ERR_POSTERN_CONFIG_TOGETHER: {
    status: 400,
    explanation: 'Settings that are valid on their own contradict each other. The server did not start.',
  },
});
