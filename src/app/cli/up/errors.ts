import { errorTable } from '../../../kit/errors.ts';

export const upErrors = errorTable({
  ERR_POSTERN_UP: {
    status: 500,
    explanation:
      '`postern up` or `postern down` could not do its work. The message gives the reason: a port, privileges, a server that does not answer, or settings that the server does not use.',
  },
});

export function upFailed(message: string): Error {
  return upErrors.create('ERR_POSTERN_UP', message);
}
