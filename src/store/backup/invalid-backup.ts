import { storeErrors } from '../errors.ts';

export function invalidBackup(problem: string, cause?: unknown) {
  return storeErrors.create('ERR_POSTERN_BACKUP_INVALID', `${problem}. Nothing was restored`, { cause });
}
