import { errorTable } from '../lib/errors.ts';

export const configErrors = errorTable({
  ERR_POSTERN_CONFIG_UNKNOWN: {
    status: 400,
    explanation:
      'A flag, a POSTERN_ variable or a line of the configuration file names a setting that does not exist. Nothing was started.',
  },
  ERR_POSTERN_CONFIG_VALUE: {
    status: 400,
    explanation:
      'A setting has a value that it cannot have; the message says what is allowed and where the value came from. Nothing was started.',
  },
  ERR_POSTERN_CONFIG_FILE: {
    status: 400,
    explanation: 'The configuration file cannot be read or is not a YAML map of settings. Nothing was started.',
  },
  ERR_POSTERN_CONFIG_TOGETHER: {
    status: 400,
    explanation: 'Each setting is fine alone, but not together with another one. Nothing was started.',
  },
});
