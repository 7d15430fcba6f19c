import { mainErrors } from '../errors.ts';

export function handoverFailed(message: string): Error {
  return mainErrors.create('ERR_POSTERN_HANDOVER', message);
}
