import { errorTable } from '../lib/errors.ts';

export const pkiErrors = errorTable({
  ERR_POSTERN_INTERNAL_CA: {
    status: 500,
    explanation:
      'The internal CA in the data directory is missing or damaged. A missing one is made when the server starts. Restore the files of a damaged one, or remove them: a new CA is made, which users must trust anew.',
  },
});
