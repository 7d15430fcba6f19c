import { upErrors } from './errors.ts';

export function upFailed(message: string): Error {
  return upErrors.create('ERR_POSTERN_UP', message);
}
