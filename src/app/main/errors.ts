import { errorTable } from '../../kit/errors.ts';

export const mainErrors = errorTable({
  ERR_POSTERN_LISTEN: {
    status: 503,
    explanation:
      'A listener could not be opened: its port is in use, or its address does not belong to this machine. The message names the setting.',
  },
  ERR_POSTERN_HANDOVER: {
    status: 503,
    explanation:
      'A running server could not be replaced by a new process. The running one continues. The message gives the reason.',
  },
  ERR_POSTERN_COMMAND: {
    status: 400,
    explanation: 'The command does not exist. `postern --help` lists the commands.',
  },
});
