import type { Requester } from './recognizes-requesters.ts';

/** A request as modules see it. */
export interface TrafficRequest extends Requester {
  readonly id: string;
  readonly method: string;
  /** As forwarded, without the query. */
  readonly path: string;
  readonly host: string;
  readonly scheme: 'http' | 'https';
  /** Host and port as the client sent them. */
  readonly authority: string;
  /** Path and query as received. */
  readonly target: string;
  /** Protocol to switch to, such as `websocket`. */
  readonly switchTo: string | null;
  /** The client's address; behind trusted proxies, the one that they report. */
  readonly clientAddress: string;
  readonly clientCertificate: ClientCertificate | null;
  readonly nowMs: number;
  /** First value of a client header. */
  header(name: string): string | undefined;
  /** All values of a list header, joined by commas as if sent in one line (RFC 9110 §5.3). */
  combinedHeader(name: string): string | undefined;
  /** All values of a header, line by line. */
  headerLines(name: string): readonly string[];
}

/** A certificate verified in the handshake. */
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
