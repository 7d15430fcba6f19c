import type { JsonObject } from '../../lib/json.ts';
import type { Store, StoredRecord } from '../../store/store.ts';
import type { DocumentsPort } from '../documents-ports.ts';
import type { SharedPorts } from '../shared-ports.ts';

export interface DestinationPorts extends Pick<SharedPorts, 'eventTypes'> {
  readonly documents: Pick<DocumentsPort, 'require' | 'update'>;
  readonly store: Pick<Store, 'deliveries'>;
  /** Null when this server does not deliver events. */
  readonly destinationTester: DestinationTester | null;
}

/** Connects to the part that delivers events. */
export interface DestinationTester {
  /** Sends a sample event and returns the outcome. */
  test(destination: StoredRecord): Promise<JsonObject>;
}
