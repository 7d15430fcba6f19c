import type { Transform } from 'node:stream';
import type { TrafficRequest } from '../../modules/contract/decides.ts';
import type { ResponseTransform, TrafficResponseHead } from '../../modules/contract/prepared-module.ts';
import type { ModuleWith } from '../../snapshot/edge-snapshot.ts';
import { assertResponseHeaders } from './module-headers.ts';

export type BodyChange = ResponseTransform & { readonly createStream: () => Transform };

/** One response after the changes of a route's modules. */
export interface ChangedResponse extends Pick<ResponseTransform, 'headers'> {
  /** Changes of the body, in order. Empty where no body follows. */
  readonly bodies: readonly BodyChange[];
  /** The upstream's announced length does not apply to the client. */
  readonly isLengthOpen: boolean;
  /** Every change, in order: each may change the trailers. */
  readonly all: readonly ResponseTransform[];
}

/** Null when no module changes anything. */
export function changedResponse(
  request: TrafficRequest,
  changers: readonly ModuleWith<'transform'>[],
  head: TrafficResponseHead,
): ChangedResponse | null {
  let all: ResponseTransform[] | null = null;
  let bodies: BodyChange[] | null = null;
  let { headers } = head;
  for (const { name, prepared } of changers) {
    const change = prepared.transform(request, seenHead(head, headers, bodies !== null));
    if (change === null) continue;
    assertResponseHeaders(name, change.headers, headers);
    headers = change.headers;
    all ??= [];
    all.push(change);
    if (!changesBody(change)) continue;
    bodies ??= [];
    bodies.push(change);
  }
  if (all === null) return null;
  return { headers, all, bodies: hasBody(request, head) ? (bodies ?? NONE) : NONE, isLengthOpen: bodies !== null };
}

/** Facts about the upstream's body do not hold for a changed one. */
function seenHead(head: TrafficResponseHead, headers: TrafficResponseHead['headers'], isBodyChanged: boolean) {
  if (isBodyChanged) return { status: head.status, headers, bodyBytes: null };
  return headers === head.headers ? head : { ...head, headers };
}

/** In one call, if every change supports it. */
export function changedWhole(bodies: readonly BodyChange[], body: Buffer): Buffer {
  let changed = body;
  for (const change of bodies) changed = change.whole?.(changed) ?? changed;
  return changed;
}

export function areWhole(bodies: readonly BodyChange[]): boolean {
  return bodies.every((change) => change.whole !== undefined);
}

export function changedTrailers(
  changed: ChangedResponse | null,
  trailers: TrafficResponseHead['headers'],
): TrafficResponseHead['headers'] {
  let now = trailers;
  for (const change of changed?.all ?? NONE) {
    if (change.trailers !== undefined) now = change.trailers(now);
  }
  return now;
}

const NONE: readonly never[] = [];

function changesBody(change: ResponseTransform): change is BodyChange {
  return change.createStream !== null;
}

function hasBody({ method }: TrafficRequest, { status }: TrafficResponseHead): boolean {
  return method !== 'HEAD' && status !== 204 && status !== 304;
}
