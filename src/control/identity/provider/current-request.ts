import { AsyncLocalStorage } from 'node:async_hooks';
import { clearCookie, cookiesWhere, cookieValues, setCookie } from '../../../kit/http/cookie-header.ts';
import type { JsonObject } from '../../../kit/json.ts';

/** What the provider's adapter must know of the request that it works for: the library passes it ids alone. */
export interface CurrentRequest {
  readonly browser: BrowserKept;
  /** Addresses to return to that the request names: they decide which of a route's hosts is meant. */
  readonly askedUris: readonly string[];
  /**
   * A logout is delivered: only then is a client's address for it known to the library, which must not send it by
   * itself.
   */
  readonly isDelivery: boolean;
  /** The session of the browser, once it was found. */
  sessionUid: string | null;
  /** Ids of sessions that end with the request, unless they were replaced. */
  readonly endedSessions: Set<string>;
}

const storage = new AsyncLocalStorage<CurrentRequest>();

export function withRequest<Result>(request: CurrentRequest, run: () => Promise<Result>): Promise<Result> {
  return storage.run(request, run);
}

export function currentRequest(): CurrentRequest {
  const request = storage.getStore();
  if (request === undefined) throw new Error('the OpenID provider was called without a request');
  return request;
}

/** What the provider keeps about visitors who have not proved who they are: an application's request, a logout. */
type KeptModel = 'Interaction' | 'Session';

export interface Sealer {
  seal(purpose: string, text: string): string;
  open(purpose: string, sealed: string): string | null;
}

const PREFIX: Readonly<Record<KeptModel, string>> = {
  Interaction: '__Host-postern-interaction-',
  Session: '__Host-postern-visit-',
};
const ID = /^[A-Za-z0-9_-]{1,64}$/;
/** Tabs that wait at once. */
const MAX_KEPT = 4;
/** Browsers keep cookies of up to 4,096 bytes, with name and attributes. */
const MAX_SEALED = 3_900;

/**
 * Keeps the state of visitors in their own browser, sealed: a flood of them stores nothing. One per request; a sibling
 * host cannot plant such cookies, because of their prefix.
 */
export class BrowserKept {
  readonly #lines: readonly string[];
  readonly #sealer: Sealer;
  readonly #changed = new Map<string, { readonly payload: JsonObject | null; readonly line: string }>();

  constructor(cookieLines: readonly string[], sealer: Sealer) {
    this.#lines = cookieLines;
    this.#sealer = sealer;
  }

  find(model: KeptModel, id: string): JsonObject | null {
    if (!ID.test(id)) return null;
    const name = `${PREFIX[model]}${id}`;
    const changed = this.#changed.get(name);
    if (changed !== undefined) return changed.payload;
    for (const value of cookieValues(this.#lines, name).slice(0, 2)) {
      const payload = this.#opened(model, id, value);
      if (payload !== null) return payload;
    }
    return null;
  }

  /** False when it does not fit into a cookie. */
  keep(model: KeptModel, id: string, payload: JsonObject, seconds: number): boolean {
    const sealed = this.#sealer.seal(purposeOf(model, id), JSON.stringify(payload));
    if (!ID.test(id) || sealed.length > MAX_SEALED) return false;
    const name = `${PREFIX[model]}${id}`;
    for (const other of this.#surplus(model, name))
      this.#changed.set(other, { payload: null, line: clearCookie(other) });
    this.#changed.set(name, { payload, line: setCookie(name, sealed, seconds) });
    return true;
  }

  forget(model: KeptModel, id: string): void {
    if (this.find(model, id) === null) return;
    const name = `${PREFIX[model]}${id}`;
    this.#changed.set(name, { payload: null, line: clearCookie(name) });
  }

  /** The lines of `set-cookie`. */
  get cookies(): readonly string[] {
    return Array.from(this.#changed.values(), ({ line }) => line);
  }

  /** The oldest ones that no longer fit beside a new one; browsers send older cookies first (RFC 6265 §5.4). */
  #surplus(model: KeptModel, added: string): readonly string[] {
    const names = cookiesWhere(this.#lines, ({ name }) => name.startsWith(PREFIX[model]) && name !== added).map(
      ({ name }) => name,
    );
    const known = [...new Set(names)];
    return known.slice(0, Math.max(0, known.length - (MAX_KEPT - 1)));
  }

  #opened(model: KeptModel, id: string, value: string): JsonObject | null {
    const text = this.#sealer.open(purposeOf(model, id), value);
    return text === null ? null : (JSON.parse(text) as JsonObject);
  }
}

/** Bound to its id: it opens under no other name. */
function purposeOf(model: KeptModel, id: string): string {
  return `identity-${model.toLowerCase()}/${id}`;
}
