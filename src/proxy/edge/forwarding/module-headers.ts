import { type HeaderList, HOP_BY_HOP } from '../../../kit/http/header-values.ts';
import type { HeaderChange } from '../../../modules/contract/prepared-module.ts';
import type { RequestChanger } from '../../snapshot/edge-snapshot.ts';
import { FORWARDED, foldedName, SPECIAL } from '../http/request-head.ts';

/** The edge computes these for each connection; from a module they would contradict it (RFC 9112 §6). */
const FRAMING: ReadonlySet<string> = new Set([...HOP_BY_HOP, 'content-length']);

/** The response to a WebSocket handshake depends on these: the client checks it (RFC 6455 §4.1). */
const HANDSHAKE: ReadonlySet<string> = new Set(['sec-websocket-key', 'sec-websocket-version']);

/** No character that CGI folds into another name, as it does "x_forwarded_for". */
const NAME = /^[a-z0-9-]+$/;

/** A control character, or one that a byte cannot hold. */
const UNSENDABLE = /[^\t\x20-\x7e\x80-\xff]/;

/**
 * Throws when a module puts framing into a response's head, which could split the response, or a value that cannot be
 * sent. The upstream's own values were checked when they arrived.
 */
export function assertResponseHeaders(module: string, headers: HeaderList, before: HeaderList): void {
  for (let at = 0; at < headers.length; at += 2) {
    const name = headers[at] as string;
    if (FRAMING.has(name)) throw new Error(`the ${module} module sets the header ${name}, which only the edge may`);
    const value = headers[at + 1] as string;
    if (value !== before[at + 1] && UNSENDABLE.test(value)) throw unsendable(module, 'response', name);
  }
}

/** A module's change of headers that it may make, as it is applied to requests. */
export interface CheckedChange {
  readonly change: HeaderChange;
  /** What it removes, for the trailers; null: nothing. */
  readonly removed: ReadonlySet<string> | null;
  /** What it removes of the headers that the edge adds. */
  readonly withoutForwarded: ReadonlySet<string>;
  /** What it removes or replaces; null: nothing. */
  readonly gone: ReadonlySet<string> | null;
  readonly added: HeaderList;
}

/** The last one of each module on a route: most return the same change for all requests. */
const CHECKED = new WeakMap<RequestChanger, CheckedChange>();

/** Throws when the module touches a header that modules may not change. */
export function checkedChange(module: RequestChanger, change: HeaderChange): CheckedChange {
  const last = CHECKED.get(module);
  if (last?.change === change) return last;
  const { remove = NONE, set = NONE, add = NONE } = change;
  const removed = new Set(remove);
  const gone = new Set(remove);
  for (let at = 0; at < set.length; at += 2) gone.add(set[at] as string);
  for (const name of gone) if (!FORWARDED.has(name)) assertMayChange(module, name);
  for (const list of [set, add]) {
    for (let at = 0; at < list.length; at += 2) assertMayChange(module, list[at] as string);
    assertSendable(module, list);
  }
  const checked = {
    change,
    removed: removed.size === 0 ? null : removed,
    withoutForwarded: FORWARDED.intersection(removed),
    gone: gone.size === 0 ? null : gone,
    added: [...set, ...add],
  };
  CHECKED.set(module, checked);
  return checked;
}

export function withHeaderChange(headers: HeaderList, { gone, added }: CheckedChange): HeaderList {
  const kept = gone === null ? headers : withoutNames(headers, gone);
  return added.length === 0 ? kept : kept.concat(added);
}

/** Also without names that an upstream may read as one of these: "x.user" as "x-user". */
export function withoutNames(headers: HeaderList, names: ReadonlySet<string>): HeaderList {
  const kept: string[] = [];
  for (let at = 0; at < headers.length; at += 2) {
    const name = headers[at] as string;
    if (!names.has(foldedName(name))) kept.push(name, headers[at + 1] as string);
  }
  return kept;
}

const NONE: HeaderList = [];

function assertMayChange(module: RequestChanger, name: string): void {
  if (NAME.test(name) && !SPECIAL.has(name) && !HANDSHAKE.has(name) && !module.isForeignHeader(name)) return;
  throw new Error(`the ${module.name} module changes the request header ${JSON.stringify(name)}, which is not its own`);
}

/** Without this check the upstream's client would reject the value, and the visitor would get the blame. */
function assertSendable(module: RequestChanger, headers: HeaderList): void {
  for (let at = 0; at < headers.length; at += 2) {
    if (UNSENDABLE.test(headers[at + 1] as string)) throw unsendable(module.name, 'request', headers[at] as string);
  }
}

/** Without the value, which may be a secret. */
function unsendable(module: string, message: 'request' | 'response', name: string): Error {
  return new Error(`the ${module} module gives the ${message} header ${name} a value with forbidden characters`);
}
