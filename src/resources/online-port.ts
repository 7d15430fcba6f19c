import type { Lease, PageQuery } from '../store/store.ts';

export type OnlineKind = Exclude<Lease['kind'], 'node'>;

export type OnlineItem = Pick<Lease, 'id' | 'parent' | 'credentialId' | 'doc'>;

/** Agents' sessions, tunnels and endpoints that receive traffic now, of all nodes. */
export interface OnlinePort {
  get(kind: OnlineKind, id: string): Promise<OnlineItem | null>;
  /** Newest first. */
  list(kind: OnlineKind, query: PageQuery): Promise<readonly OnlineItem[]>;
}
