import type { HeaderList } from '../lib/http/header-list.ts';

export interface ObservedRequest {
  readonly tunnel: { readonly ref: number; readonly name: string };
  readonly method: string;
  readonly target: string;
  readonly authority: string;
  /** Without framing headers. */
  readonly headers: HeaderList;
  /** Null when it was not announced. */
  readonly contentLength: number | null;
}

/** Observes one HTTP exchange. Chunks are passed by reference, not copied: an observer must not modify them. */
export interface ExchangeObserver {
  onRequestData(chunk: Buffer): void;
  onResponseHead(status: number, headers: HeaderList): void;
  onResponseData(chunk: Buffer): void;
  /** Called once. `problem` is null when the response was complete. */
  onEnd(problem: string | null): void;
}

/** Returns null to skip this request. */
export type ObserveExchange = (request: ObservedRequest) => ExchangeObserver | null;
