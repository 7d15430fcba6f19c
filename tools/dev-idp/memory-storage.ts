import type { Adapter, AdapterPayload, ClientMetadata } from 'oidc-provider';

/** Models that belong to a user's login alone; without the grant no token of that user is valid. */
const GRANT_MODELS = ['Grant', 'AccessToken', 'AuthorizationCode', 'RefreshToken'];

interface Item {
  readonly payload: AdapterPayload;
  readonly expiresAtMs: number;
}

/** Everything that the provider stores, and its clients, which can change while it runs. */
export class MemoryStorage {
  readonly #items = new Map<string, Map<string, Item>>();
  #clients: readonly ClientMetadata[] = [];

  setClients(clients: readonly ClientMetadata[]): void {
    this.#clients = clients;
  }

  /** The interface of oidc-provider: one adapter per model. */
  adapter(model: string): Adapter {
    const items = this.#itemsOf(model);
    const find = (id: string): AdapterPayload | undefined => {
      if (model === 'Client') return this.#clients.find((client) => client.client_id === id);
      return live(items.get(id));
    };
    const findBy = (field: 'uid' | 'userCode', value: string): AdapterPayload | undefined =>
      payloads(items).find((payload) => payload[field] === value);
    return {
      upsert: async (id, payload, expiresInS) => {
        items.set(id, { payload, expiresAtMs: expiresInS === undefined ? Infinity : Date.now() + expiresInS * 1000 });
      },
      find: async (id) => find(id),
      findByUid: async (uid) => findBy('uid', uid),
      findByUserCode: async (userCode) => findBy('userCode', userCode),
      consume: async (id) => {
        const payload = find(id);
        if (payload !== undefined) payload.consumed = Math.floor(Date.now() / 1000);
      },
      destroy: async (id) => {
        items.delete(id);
      },
      revokeByGrantId: async (grantId) => remove(items, (payload) => payload.grantId === grantId),
    };
  }

  /** The user stays logged in at the provider, but none of their tokens works any longer. */
  removeGrants(userId: string): void {
    for (const model of GRANT_MODELS) remove(this.#itemsOf(model), (payload) => payload.accountId === userId);
  }

  sessionsOf(userId: string): readonly AdapterPayload[] {
    return payloads(this.#itemsOf('Session')).filter((payload) => payload.accountId === userId);
  }

  removeSessions(userId: string): void {
    remove(this.#itemsOf('Session'), (payload) => payload.accountId === userId);
  }

  #itemsOf(model: string): Map<string, Item> {
    let items = this.#items.get(model);
    if (items === undefined) {
      items = new Map();
      this.#items.set(model, items);
    }
    return items;
  }
}

function live(item: Item | undefined): AdapterPayload | undefined {
  return item !== undefined && item.expiresAtMs > Date.now() ? item.payload : undefined;
}

function payloads(items: ReadonlyMap<string, Item>): AdapterPayload[] {
  return [...items.values()].map(live).filter((payload) => payload !== undefined);
}

function remove(items: Map<string, Item>, isMeant: (payload: AdapterPayload) => boolean): void {
  for (const [id, item] of items) if (isMeant(item.payload)) items.delete(id);
}
