import { readOrNull } from '../../../lib/read-or-null.ts';
import { hashToken } from '../../../lib/text/token-hash.ts';
import type { FollowedRecord, FollowedRecords } from '../../contract/kept-records.ts';
import { GUEST_LINK_KIND, type GuestLink, guestLinkOf } from './guest-link.ts';

/** All guest links in memory, by id and by secret: it follows their records. */
export class LinkDirectory {
  readonly #byId = new Map<string, GuestLink>();
  readonly #byHash = new Map<string, GuestLink>();
  /** Links by route: a route without any costs a request nothing. */
  readonly #perRoute = new Map<string, number>();
  readonly #stop: () => void;

  /** `onGone` is called after the link of an edge was deleted. */
  constructor(followed: FollowedRecords, onGone: (edgeId: string) => void) {
    for (const record of followed.all(GUEST_LINK_KIND)) this.#read(record);
    this.#stop = followed.onChange((changed) => {
      for (const { kind, id } of changed) {
        if (kind !== GUEST_LINK_KIND) continue;
        const before = this.#remove(id);
        const record = followed.get(kind, id);
        if (record !== undefined) this.#read(record);
        else if (before !== undefined) onGone(before.edgeId);
      }
    });
  }

  get(id: string): GuestLink | undefined {
    return this.#byId.get(id);
  }

  find(secret: string): GuestLink | undefined {
    return this.#byHash.get(hashToken(secret));
  }

  hasLinks(routeId: string): boolean {
    return this.#perRoute.has(routeId);
  }

  idsOn(edgeId: string): readonly string[] {
    return [...this.#byId.values()].filter((link) => link.edgeId === edgeId).map(({ id }) => id);
  }

  close(): void {
    this.#stop();
  }

  #read(record: FollowedRecord): void {
    const link = readOrNull(() => guestLinkOf(record));
    if (link !== null) this.#add(link);
  }

  #add(link: GuestLink): void {
    this.#byId.set(link.id, link);
    this.#byHash.set(link.secretHash, link);
    this.#perRoute.set(link.routeId, (this.#perRoute.get(link.routeId) ?? 0) + 1);
  }

  #remove(id: string): GuestLink | undefined {
    const link = this.#byId.get(id);
    if (link === undefined) return undefined;
    this.#byId.delete(id);
    this.#byHash.delete(link.secretHash);
    const left = (this.#perRoute.get(link.routeId) ?? 1) - 1;
    if (left === 0) this.#perRoute.delete(link.routeId);
    else this.#perRoute.set(link.routeId, left);
    return link;
  }
}
