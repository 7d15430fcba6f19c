import type { Clock } from '../lib/clock.ts';
import type { Ref } from '../lib/schema/annotations.ts';
import type { DocumentsPort } from './documents-port.ts';
import type { HostCertificates } from './host-certificates.ts';
import type { OnlinePort } from './online-port.ts';
import type { EventType } from './operation.ts';

/**
 * Ports that several resources use: each picks those that it needs. A port with one user stands in its folder, or beside
 * this file if src/documents implements it. A resource also names the parts of `documents` (DocumentsPort) and `store`
 * (Store) that it uses.
 */
export interface SharedPorts {
  readonly clock: Clock;
  readonly online: OnlinePort;
  readonly eventTypes: readonly EventType[];
  readonly hostCertificates: HostCertificates;
  readonly newId: (prefix: string) => string;
  /** Absolute URI of a path of this API. */
  readonly uri: (path: string) => string;
  /** Ref of any resource by its id; a nested one needs its parent's id. */
  readonly ref: (id: string, parentId?: string) => Ref;
}

/** For resources that only read the configuration. */
export interface ReadingPorts {
  readonly documents: Pick<DocumentsPort, 'reader'>;
}
