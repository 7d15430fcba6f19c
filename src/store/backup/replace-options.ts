import { storeErrors } from '../errors.ts';
import type { RunProgram } from '../offline/offline-database.ts';
import type { StoreLocation } from '../offline/store-location.ts';
import type { Dialect } from '../sql/schema/schema.ts';

/** Fills the database of an open transaction, which has no tables yet. */
export type FillFromBackup = (run: RunProgram, dialect: Dialect) => Promise<void>;

export interface ReplaceOptions<Location extends StoreLocation> {
  readonly target: Location;
  /** Also replaces a store that contains records. */
  readonly replace: boolean;
  readonly fill: FillFromBackup;
  /** Called once, when the new store is ready and the next step makes it the store. */
  readonly beforeVisible: () => void;
}

export function notEmpty(where: string) {
  return storeErrors.create(
    'ERR_POSTERN_RESTORE_NOT_EMPTY',
    `the store in ${where} already contains records: restore into an empty store, or use --replace`,
  );
}
