import type { HeaderList } from '../../lib/http/header-list.ts';
import type { PassedBy, RecordedRequest } from './recorded-request.ts';

const NONE: readonly never[] = [];

/**
 * One place of the history, filled again and again. With a new object per request, the collector copies each of them twice, with its
 * numbers and lists, before another request replaces it: this was half of the cost of the history. Numbers are never null, so
 * that they are changed in place.
 */
export class RequestSlot {
  id = '';
  startedAtMs = Number.NaN;
  durationMs = Number.NaN;
  status = 0;
  host: string | null = null;
  routeId: string | null = null;
  userId: string | null = null;
  /** Estimated size. */
  bytes = 0;
  method: string | null = null;
  path: string | null = null;
  #query: string | null = null;
  errorCode: string | null = null;
  edgeId: string | null = null;
  clientAddress = '';
  #userKind: string | null = null;
  #headers: HeaderList = NONE;
  #bytesIn = 0;
  #bytesOut = 0;
  #passes: readonly (string | PassedBy)[] = NONE;
  #waits: readonly (string | number)[] = NONE;
  #refusedBy: string | null = null;
  #answeredBy: string | null = null;
  #decidingRule: string | null = null;
  #target: string | null = null;
  #tunnelNode: string | null = null;
  #admittedMs = Number.NaN;
  #answeredMs = Number.NaN;

  fill(request: RecordedRequest, headers: HeaderList, passes: readonly (string | PassedBy)[]): void {
    const { host, clientAddress, admittedMs, answeredMs } = request;
    this.id = request.id;
    this.startedAtMs = request.startedAtMs;
    this.durationMs = request.durationMs;
    this.status = request.status;
    // Each request brings another string of the same characters: the one that is here has been copied already.
    if (this.host !== host) this.host = host;
    if (this.clientAddress !== clientAddress) this.clientAddress = clientAddress;
    this.routeId = request.routeId;
    this.userId = request.userId;
    this.method = request.method;
    this.path = request.path;
    this.#query = request.query;
    this.errorCode = request.errorCode;
    this.edgeId = request.edgeId;
    this.#userKind = request.userKind;
    this.#headers = headers;
    this.#bytesIn = request.bytesIn;
    this.#bytesOut = request.bytesOut;
    this.#passes = passes;
    this.#waits = request.waits;
    this.#refusedBy = request.refusedBy;
    this.#answeredBy = request.answeredBy;
    this.#decidingRule = request.decidingRule;
    this.#target = request.target;
    this.#tunnelNode = request.tunnelNode;
    this.#admittedMs = admittedMs === null ? Number.NaN : admittedMs;
    this.#answeredMs = answeredMs === null ? Number.NaN : answeredMs;
  }

  /** A copy: the slot is filled again while others still read what it held. */
  copy(): RecordedRequest {
    return {
      id: this.id,
      startedAtMs: this.startedAtMs,
      durationMs: this.durationMs,
      method: this.method,
      host: this.host,
      path: this.path,
      query: this.#query,
      status: this.status,
      errorCode: this.errorCode,
      edgeId: this.edgeId,
      routeId: this.routeId,
      clientAddress: this.clientAddress,
      userId: this.userId,
      userKind: this.#userKind,
      headers: this.#headers,
      bytesIn: this.#bytesIn,
      bytesOut: this.#bytesOut,
      passes: this.#passes,
      waits: this.#waits,
      refusedBy: this.#refusedBy,
      answeredBy: this.#answeredBy,
      decidingRule: this.#decidingRule,
      target: this.#target,
      tunnelNode: this.#tunnelNode,
      admittedMs: Number.isNaN(this.#admittedMs) ? null : this.#admittedMs,
      answeredMs: Number.isNaN(this.#answeredMs) ? null : this.#answeredMs,
    };
  }
}
