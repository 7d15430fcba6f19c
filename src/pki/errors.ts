import { errorTable } from '../lib/errors.ts';

export const pkiErrors = errorTable({
  ERR_POSTERN_INTERNAL_CA: {
    status: 500,
    explanation:
      'The internal CA in the data directory is damaged. Restore its files, or remove them: a new CA is made, which users must trust anew.',
  },
});
