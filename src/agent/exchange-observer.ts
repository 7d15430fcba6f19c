/** Names in lower case, flat: `[name, value, name, value, …]`. */
export type HeaderList = readonly string[];

export interface ObservedRequest {
  readonly tunnel: { readonly ref: number; readonly name: string };
  readonly method: string;
  readonly target: string;
  readonly authority: string;
  /** Without framing. */
  readonly headers: HeaderList;
  /** Null when it was not announced. */
  readonly contentLength: number | null;
}

/** Sees one HTTP exchange as it goes by. Chunks are given on, not copied: what is kept must not be changed. */
export interface ExchangeObserver {
  onRequestData(chunk: Buffer): void;
  onResponseHead(status: number, headers: HeaderList): void;
  onResponseData(chunk: Buffer): void;
  /** Called once. `problem` is null when the answer was whole. */
  onEnd(problem: string | null): void;
}

/** Null: this one is not of interest. */
export type ObserveExchange = (request: ObservedRequest) => ExchangeObserver | null;
