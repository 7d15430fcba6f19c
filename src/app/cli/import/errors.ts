import { errorTable } from '../../../kit/errors.ts';

export const importErrors = errorTable({
  ERR_POSTERN_IMPORT_INPUT: {
    status: 400,
    explanation:
      'The file of "postern import" cannot be read: it is too large, not text, or not in the expected format. The message names the file and, where there is one, the line.',
  },
  ERR_POSTERN_IMPORT_SOURCE: {
    status: 502,
    explanation:
      'The API that "postern import ngrok" reads did not respond as expected. The message names the list and the response. Use `--from-file` with saved responses if the API is gone.',
  },
  ERR_POSTERN_IMPORT_OUTPUT: {
    status: 409,
    explanation:
      'The file that "postern import" is to write exists. Name another with `--file`, or replace it with `--force`.',
  },
});
