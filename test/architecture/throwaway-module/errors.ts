import { errorTable } from '../../../src/kit/errors.ts';

export const throwawayErrors = errorTable({
  ERR_POSTERN_THROWAWAY: { status: 404, explanation: 'The throwaway module serves nothing at this path.' },
});
