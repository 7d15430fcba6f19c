import type { Transport } from '../../client/transport.ts';
import { isJsonObject, type JsonObject } from '../../lib/json.ts';
import { cellText, printable } from '../api/cell-text.ts';
import type { ReadRequest, ShownRequest } from './request-lines.ts';

/** Where the API has those who make requests. A workload is named by its subject. */
const PATHS: Readonly<Record<string, string>> = {
  user: '/app/users',
  service_account: '/service_accounts',
  guest: '/guest_links',
};
const NAMES = ['email', 'name', 'username', 'description'];
const MAX_KNOWN = 500;

/** What people call those who made requests. Each is asked for once. */
export class CallerNames {
  readonly #transport: Transport;
  readonly #known = new Map<string, Promise<string | null>>();

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Null: nobody logged in. An id without a name, or without the right to read it, stays an id. */
  of({ user, user_kind: kind }: JsonObject): Promise<string | null> {
    if (typeof user !== 'string') return Promise.resolve(null);
    const path = typeof kind === 'string' ? PATHS[kind] : undefined;
    if (path === undefined) return Promise.resolve(user);
    const known = this.#known.get(user);
    if (known !== undefined) return known;
    if (this.#known.size >= MAX_KNOWN) this.#known.clear();
    const name = this.#read(`${path}/${encodeURIComponent(user)}`).then((found) => found ?? user);
    this.#known.set(user, name);
    return name;
  }

  async #read(path: string): Promise<string | null> {
    const { text } = await this.#transport.send({ method: 'GET', path }).catch(() => ({ text: '{}' }));
    const document: unknown = JSON.parse(text);
    if (!isJsonObject(document)) return null;
    const names = NAMES.map((field) => document[field]);
    return names.find((name): name is string => typeof name === 'string' && name !== '') ?? null;
  }
}

/** Somebody who logged in is known by a name, anybody else by an address. */
export async function readRequest(request: ShownRequest, callers: CallerNames): Promise<ReadRequest> {
  return { request, who: printable((await callers.of(request)) ?? cellText(request['client_address'])) };
}
