import type { JsonObject } from '../../lib/json.ts';
import type { StoredRecord } from '../../store/store.ts';

/** Connects to the part that delivers events. */
export interface DestinationTester {
  /** Sends a sample event and returns the outcome. */
  test(destination: StoredRecord): Promise<JsonObject>;
}
