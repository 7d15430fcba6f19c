import type { FollowedRecord } from '../../contract/kept-records.ts';

export const GUEST_LINK_KIND = 'guest_link';

/** A guest link as traffic needs it. */
export interface GuestLink {
  readonly id: string;
  readonly edgeId: string;
  readonly routeId: string;
  readonly host: string;
  readonly expiresAtMs: number;
  readonly maxBrowsers: number;
  readonly secretHash: string;
  readonly record: FollowedRecord;
}

export function guestLinkOf(record: FollowedRecord): GuestLink {
  const { id, doc } = record;
  return {
    id,
    edgeId: doc['edge_id'] as string,
    routeId: doc['route_id'] as string,
    host: doc['host'] as string,
    expiresAtMs: Date.parse(doc['expires_at'] as string),
    maxBrowsers: doc['max_browsers'] as number,
    secretHash: (doc['internal'] as { readonly secret_hash: string }).secret_hash,
    record,
  };
}
