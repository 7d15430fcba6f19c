import type { Transform } from 'node:stream';
import type { ErrorCode } from '../lib/errors.ts';
import type { JsonObject } from '../lib/json.ts';

/** Flat: `[name, value, name, value, …]`, names in lower case. */
export type HeaderList = readonly string[];

/** What a module may look at while it is being prepared. Looking at a record makes the route depend on it. */
export interface PreparePorts {
  /** A configuration record's document, with its secrets. */
  record(kind: string, id: string): JsonObject | undefined;
  /** Documents of a record's children. */
  children(kind: string, parentId: string): readonly JsonObject[];
}

export type Preparation =
  | { readonly ok: true; readonly prepared: PreparedModule }
  | {
      readonly ok: false;
      readonly problem: PreparationProblem;
      /** What handshakes have to prove all the same, for edge modules. */
      readonly tls?: TlsPolicy;
    };

export interface PreparationProblem {
  readonly code: ErrorCode;
  /** What is missing or wrong, and what to do; shown to the operator and, without details, to the client. */
  readonly message: string;
}

/** A module as traffic meets it. Each hook is optional, and absent hooks cost nothing. */
export interface PreparedModule {
  /** Who may connect: read by the TLS layer, for edge modules. */
  readonly tls?: TlsPolicy;
  /**
   * May this request pass? Access decisions are made again for streams in flight when the configuration changes, so the
   * answer depends on nothing but the request.
   */
  judge?(request: TrafficRequest): Verdict | Promise<Verdict>;
  /** Headers that the upstream gets, after everything of the same name was taken from the client's. */
  upstreamHeaders?(request: TrafficRequest): HeaderList;
  /** Changes a response on its way out; null leaves it as it is. */
  transform?(request: TrafficRequest, head: TrafficResponseHead): ResponseTransform | null;
  /** Where requests go, for the module that answers. */
  readonly backendId?: string;
}

export interface TlsPolicy {
  readonly minVersion?: 'TLSv1.2' | 'TLSv1.3';
  /** PEM of the authorities that a client's certificate must come from; present: a certificate is demanded. Empty: none will do. */
  readonly clientAuthorities?: readonly string[];
}

/** A request as modules see it. */
export interface TrafficRequest {
  readonly id: string;
  readonly method: string;
  /** As forwarded, without the query. */
  readonly path: string;
  readonly host: string;
  /** Address of the client, behind trusted proxies the one that they name. */
  readonly clientAddress: string;
  readonly clientCertificate: ClientCertificate | null;
  readonly nowMs: number;
  /** First value of a header of the client's. */
  header(name: string): string | undefined;
  /** All values of a header that is a list, joined by commas as if they had come in one line (RFC 9110 §5.3). */
  combinedHeader(name: string): string | undefined;
}

/** A certificate that was verified in the handshake. */
export interface ClientCertificate {
  readonly der: Buffer;
  readonly subjectCommonName: string;
  readonly serialNumber: string;
  readonly fingerprint256: string;
  readonly issuerCommonName: string;
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
  readonly subjectAltNames: string;
}

export type Verdict = 'pass' | Refusal;

export interface Refusal {
  readonly status: number;
  readonly code: ErrorCode;
  /** For the error page: what is wrong, and what the visitor can do. */
  readonly message: string;
  /** Stable word for metrics and log. */
  readonly reason: string;
  readonly headers?: HeaderList;
}

export interface TrafficResponseHead {
  readonly status: number;
  readonly headers: HeaderList;
  readonly bodyBytes: number | null;
}

export interface ResponseTransform {
  /** The head as it becomes. */
  readonly headers: HeaderList;
  /** Bytes go in, other bytes come out. Null when only the head changes and the body stays as it is. */
  readonly createStream: (() => Transform) | null;
  /** The trailers as they become; absent: as they are. */
  trailers?(trailers: HeaderList): HeaderList;
}
