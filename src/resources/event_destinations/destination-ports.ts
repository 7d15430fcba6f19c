import type { Store } from '../../store/store.ts';
import type { DocumentsPort } from '../documents-port.ts';
import type { SharedPorts } from '../shared-ports.ts';
import type { DestinationTester } from './destination-tester.ts';

export interface DestinationPorts extends Pick<SharedPorts, 'eventTypes'> {
  readonly documents: Pick<DocumentsPort, 'require' | 'update'>;
  readonly store: Pick<Store, 'deliveries'>;
  /** Null when this server does not deliver events. */
  readonly destinationTester: DestinationTester | null;
}
