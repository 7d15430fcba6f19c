import type { HeaderList } from '../../lib/http/header-values.ts';
import { isAuthority } from '../../lib/http/urls.ts';
import type { Refusal } from '../../modules/contract/decides.ts';
import type { HeaderChange } from '../../modules/contract/prepared-module.ts';
import type { RequestChanger } from '../../snapshot/edge-snapshot.ts';
import type { ClientSide } from '../connections/client-side.ts';
import { checkedChange, withHeaderChange, withoutNames } from './module-headers.ts';
import { withoutOwnCookies } from './own-cookies.ts';
import { type RewritePlace, rewriteProblem } from './rewrite-problem.ts';

const NONE: ReadonlySet<string> = new Set();

/** A request as modules change it, one after the other. */
export class ChangedRequest {
  #headers: HeaderList;
  readonly #place: RewritePlace;
  #host: string | null = null;
  #target: string | null = null;
  /** Null until a module removes one. */
  #removed: ReadonlySet<string> | null = null;
  #withoutForwarded = NONE;

  constructor(client: ClientSide, place: RewritePlace) {
    this.#place = place;
    this.#headers = withoutOwnCookies(client.head.headers);
  }

  get headers(): HeaderList {
    return this.#headers;
  }

  /** Throws when the module changes something that modules may not change. Returns why the request is rejected, if it is. */
  apply(module: RequestChanger, change: HeaderChange): Refusal | null {
    const checked = checkedChange(module, change);
    this.#headers = withHeaderChange(this.#headers, checked);
    if (checked.removed !== null) {
      this.#removed = this.#removed?.union(checked.removed) ?? checked.removed;
      if (checked.withoutForwarded.size > 0)
        this.#withoutForwarded = this.#withoutForwarded.union(checked.withoutForwarded);
    }
    if (change.host !== undefined) {
      if (!isAuthority(change.host)) throw new Error(`the ${module.name} module sets a malformed host`);
      this.#host = change.host;
    }
    if (change.target === undefined) return null;
    this.#target = change.target;
    return rewriteProblem(change.target, this.#place);
  }

  /** The client's side as it is forwarded. Some upstreams merge trailers into the headers: what is removed is removed there, too. */
  forwarded(client: ClientSide): ClientSide {
    const removed = this.#removed;
    // Without a body there are no trailers.
    const side =
      removed === null || client.source === null
        ? client
        : { ...client, trailers: () => withoutNames(client.trailers(), removed) };
    const [host, target, withoutForwarded] = [this.#host, this.#target, this.#withoutForwarded];
    if (host === null && target === null && withoutForwarded.size === 0) return side;
    return { ...side, changedHead: { host, target, withoutForwarded } };
  }
}
