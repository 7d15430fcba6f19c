import type { Clock } from '../lib/clock.ts';
import type { JsonObject } from '../lib/json.ts';
import type { Ref } from '../lib/schema/annotations.ts';
import type { Lease, OutboxEvent, PageQuery, StoredRecord } from '../store/store.ts';
import type { DocumentsPort } from './documents-ports.ts';
import type { EventType } from './operation.ts';

/**
 * Ports that several resources use: each picks those that it needs. A port with one user stands in its folder, or in
 * `documents-ports.ts` if src/documents implements or reads it. A resource also names the parts of `documents`
 * (DocumentsPort) and `store` (Store) that it uses.
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
  /** See live-event.ts. */
  readonly liveEvent: (type: string, object: () => JsonObject, apiKeyId: string) => readonly OutboxEvent[];
}

/** For resources that only read the configuration. */
export interface ReadingPorts {
  readonly documents: Pick<DocumentsPort, 'reader'>;
}

/** Certificates by host name. */
export interface HostCertificates {
  /** The record of a name under management. */
  managed(hostname: string): StoredRecord | undefined;
  /** Id of the uploaded certificate that is valid for the name now. */
  uploaded(hostname: string): string | null;
}

export type OnlineKind = Exclude<Lease['kind'], 'node' | 'farewell'>;

export type OnlineItem = Pick<Lease, 'id' | 'parent' | 'credentialId' | 'doc'>;

/** Agents' sessions, tunnels and endpoints that receive traffic now, of all nodes. */
export interface OnlinePort {
  get(kind: OnlineKind, id: string): Promise<OnlineItem | null>;
  /** Newest first. */
  list(kind: OnlineKind, query: PageQuery): Promise<readonly OnlineItem[]>;
}
