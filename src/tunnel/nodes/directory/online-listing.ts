import type { JsonObject } from '../../../kit/json.ts';
import { SortedIds } from '../../../store/replica/record-table.ts';
import type { DirectorySession, DirectoryTunnel } from './directory-tunnel.ts';
import type { DirectoryListener } from './tunnel-directory.ts';

/** A session, tunnel or endpoint as the API shows it, with the ids of the objects that it depends on. */
export interface Listed {
  readonly id: string;
  readonly parent: string | null;
  readonly credentialId: string | null;
  readonly doc: JsonObject;
}

export type ListedKind = 'tunnel_session' | 'tunnel' | 'endpoint';

interface Index<Item> {
  readonly ids: SortedIds;
  readonly byId: Map<string, Item>;
}

const PAGE = 100;

/** The lists of the API over all nodes. They are the same on every node, and come from memory. */
export class OnlineListing implements DirectoryListener {
  readonly #isCredential: (id: string) => boolean;
  readonly #sessions: Index<DirectorySession> = { ids: new SortedIds(), byId: new Map() };
  readonly #tunnels: Index<DirectoryTunnel> = { ids: new SortedIds(), byId: new Map() };
  readonly #endpoints: Index<DirectoryTunnel> = { ids: new SortedIds(), byId: new Map() };

  /** `isCredential`: sessions of a deleted credential are not listed, even before their home has ended the sessions. */
  constructor(isCredential: (id: string) => boolean) {
    this.#isCredential = isCredential;
  }

  get(kind: ListedKind, id: string): Listed | null {
    switch (kind) {
      case 'tunnel_session':
        return this.#session(this.#sessions.byId.get(id));
      case 'tunnel':
        return this.#tunnel(this.#tunnels.byId.get(id));
      case 'endpoint':
        return this.#endpoint(this.#endpoints.byId.get(id));
    }
  }

  /** Newest first. */
  list(kind: ListedKind, { beforeId, limit }: { readonly beforeId: string | null; readonly limit: number }): Listed[] {
    const { ids } = this.#indexOf(kind);
    const found: Listed[] = [];
    let before = beforeId;
    while (found.length < limit) {
      const page = ids.descending(before, Math.max(PAGE, limit - found.length));
      for (const id of page) {
        const listed = this.get(kind, id);
        if (listed !== null && found.length < limit) found.push(listed);
      }
      before = page.at(-1) ?? null;
      if (before === null) break;
    }
    return found;
  }

  onSession(session: DirectorySession): void {
    if (session.right.counted.length > 0) put(this.#sessions, session.id, session);
    else remove(this.#sessions, session.id);
  }

  onListed(tunnel: DirectoryTunnel): void {
    const former = this.#tunnels.byId.get(tunnel.id);
    if (former === tunnel) return;
    if (former !== undefined) this.onUnlisted(former);
    put(this.#tunnels, tunnel.id, tunnel);
    const { endpoint } = tunnel.announced;
    if (endpoint !== null) put(this.#endpoints, endpoint.id, tunnel);
  }

  onUnlisted(tunnel: DirectoryTunnel): void {
    if (this.#tunnels.byId.get(tunnel.id) !== tunnel) return;
    remove(this.#tunnels, tunnel.id);
    const id = tunnel.announced.endpoint?.id;
    if (id !== undefined && this.#endpoints.byId.get(id) === tunnel) remove(this.#endpoints, id);
  }

  onServed(): void {}
  onUnserved(): void {}

  #indexOf(kind: ListedKind): { readonly ids: SortedIds } {
    if (kind === 'tunnel_session') return this.#sessions;
    return kind === 'tunnel' ? this.#tunnels : this.#endpoints;
  }

  #session(session: DirectorySession | undefined): Listed | null {
    const claim = session?.right.counted.find(({ by }) => by.isUp);
    if (claim === undefined || !this.#isCredential(claim.session.credentialId)) return null;
    const { id, credentialId, doc } = claim.session;
    return { id, parent: null, credentialId, doc };
  }

  #tunnel(tunnel: DirectoryTunnel | undefined): Listed | null {
    const session = tunnel === undefined ? null : this.#sessionOf(tunnel);
    if (tunnel === undefined || session === null) return null;
    return { id: tunnel.id, parent: session.id, credentialId: session.credentialId, doc: tunnel.announced.doc };
  }

  #endpoint(tunnel: DirectoryTunnel | undefined): Listed | null {
    const session = tunnel === undefined ? null : this.#sessionOf(tunnel);
    const endpoint = tunnel?.announced.endpoint ?? null;
    if (tunnel === undefined || session === null || endpoint === null) return null;
    return { id: endpoint.id, parent: tunnel.id, credentialId: session.credentialId, doc: endpoint.doc };
  }

  /** Null: neither this node nor a linked node can reach the tunnel. */
  #sessionOf(tunnel: DirectoryTunnel): Listed | null {
    return tunnel.isOwn || tunnel.isReachable ? this.#session(this.#sessions.byId.get(tunnel.sessionId)) : null;
  }
}

function put<Item>({ ids, byId }: Index<Item>, id: string, item: Item): void {
  if (!byId.has(id)) ids.add(id);
  byId.set(id, item);
}

function remove<Item>({ ids, byId }: Index<Item>, id: string): void {
  if (byId.delete(id)) ids.remove(id);
}
