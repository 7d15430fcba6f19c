import { errorTable } from '../lib/errors.ts';

export const mainErrors = errorTable({
  ERR_POSTERN_LISTEN: {
    status: 503,
    explanation:
      'A listener could not be opened: its port is in use, or its address does not belong to this machine. The message names the setting.',
  },
  ERR_POSTERN_COMMAND: {
    status: 400,
    explanation: 'There is no command of this name. `postern --help` lists them.',
  },
});
