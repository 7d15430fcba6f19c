import { errorTable } from '../../../kit/errors.ts';

export const serviceErrors = errorTable({
  ERR_POSTERN_SERVICE: {
    status: 500,
    explanation:
      'The service could not be installed or removed. The message says what is missing: privileges, systemd, a file, or a place of the program that the service can read.',
  },
});
