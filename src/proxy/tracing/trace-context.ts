import { randomFillSync } from 'node:crypto';
import type { HeaderList } from '../../kit/http/header-values.ts';

/** Where a request stands in the trace of its sender (W3C Trace Context). */
export interface TraceParent {
  readonly traceId: string;
  readonly spanId: string;
  /** `tracestate`, for other tracing systems; null: none. */
  readonly state: string | null;
}

/** §3.2.2: lower case only; all zeros and version ff are invalid. A later version may have more fields. */
const TRACEPARENT = /^((?!ff)[0-9a-f]{2})-((?!0{32})[0-9a-f]{32})-((?!0{16})[0-9a-f]{16})-[0-9a-f]{2}(-.*)?$/;
/** §3.3.1.3: a key, with the name of its tenant or without, and a value without comma and equals sign. */
const MEMBER =
  /^(?:[a-z][a-z0-9_*/-]{0,255}|[a-z0-9][a-z0-9_*/-]{0,240}@[a-z][a-z0-9_*/-]{0,13})=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]$/;
/** §3.3.1.1, and §3.3.1.5: at least this much is passed on. */
const MAX_MEMBERS = 32;
const MAX_STATE_LENGTH = 512;

/** Null when there is no `traceparent`, more than one, or an invalid one: a new trace begins. */
export function traceParentOf(headers: HeaderList): TraceParent | null {
  let parent: string | null = null;
  let state: string | null = null;
  for (let at = 0; at < headers.length; at += 2) {
    const value = headers[at + 1] as string;
    if (headers[at] === 'traceparent') {
      if (parent !== null) return null;
      parent = value;
    } else if (headers[at] === 'tracestate') state = state === null ? value : `${state},${value}`;
  }
  const [, version, traceId, spanId, more] = (parent === null ? null : TRACEPARENT.exec(parent)) ?? [];
  if (traceId === undefined || spanId === undefined || (version === '00' && more !== undefined)) return null;
  return { traceId, spanId, state: state === null ? null : passableState(state) };
}

/** Null when it is invalid or empty. A long one loses members at its end. */
function passableState(state: string): string | null {
  const members = state.split(',', 2 * MAX_MEMBERS + 1).map((member) => member.trim());
  const given = members.filter((member) => member !== '');
  const keys = new Set(given.map((member) => member.slice(0, member.indexOf('='))));
  const isValid = members.length <= 2 * MAX_MEMBERS && given.length <= MAX_MEMBERS && keys.size === given.length;
  if (!isValid || !given.every((member) => MEMBER.test(member))) return null;
  while (given.join(',').length > MAX_STATE_LENGTH) given.pop();
  return given.length === 0 ? null : given.join(',');
}

export function formatTraceparent(traceId: string, spanId: string, isSampled: boolean): string {
  return `00-${traceId}-${spanId}-${isSampled ? '01' : '00'}`;
}

/** Replaces what the client sent. */
export function writeTraceContext(headers: string[], traceparent: string, state: string | null): void {
  removeTraceContext(headers);
  headers.push('traceparent', traceparent);
  if (state !== null) headers.push('tracestate', state);
}

/** Most requests have none: nothing is written before the first one is found. */
function removeTraceContext(headers: string[]): void {
  let kept = 0;
  for (let at = 0; at < headers.length; at += 2) {
    const name = headers[at] as string;
    if (name === 'traceparent' || name === 'tracestate') continue;
    if (kept < at) {
      headers[kept] = name;
      headers[kept + 1] = headers[at + 1] as string;
    }
    kept += 2;
  }
  if (kept < headers.length) headers.length = kept;
}

const TRACE_BYTES = 16;
const SPAN_BYTES = 8;
const POOL_BYTES = 4_096;

/** Random ids. They come from a pool: a call of the system's generator per id costs ten times as much. */
export class TraceIds {
  readonly #pool = Buffer.alloc(POOL_BYTES);
  #at = POOL_BYTES;

  traceId(): string {
    return this.#next(TRACE_BYTES);
  }

  spanId(): string {
    return this.#next(SPAN_BYTES);
  }

  #next(bytes: number): string {
    if (this.#at + bytes > POOL_BYTES) {
      randomFillSync(this.#pool);
      this.#at = 0;
    }
    const id = this.#pool.toString('hex', this.#at, this.#at + bytes);
    this.#at += bytes;
    // Never in practice: an id of zeros is invalid (W3C Trace Context §3.2.2).
    return /[1-9a-f]/.test(id) ? id : this.#next(bytes);
  }
}
