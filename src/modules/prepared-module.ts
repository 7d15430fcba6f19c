import type { Transform } from 'node:stream';
import type { ErrorCode } from '../lib/errors.ts';
import type { JsonObject } from '../lib/json.ts';
import type { ModuleRuntime } from './module-runtime.ts';

/** Flat: `[name, value, name, value, …]`, names in lower case. */
export type HeaderList = readonly string[];

/** What a module may look at while it is being prepared. Looking at a record makes the route depend on it. */
export interface PreparePorts<Settings = Readonly<Record<string, unknown>>> {
  /** A configuration record's document, with its secrets. */
  record(kind: string, id: string): JsonObject | undefined;
  /** Documents of a record's children. */
  children(kind: string, parentId: string): readonly JsonObject[];
  /** Who configured the module. Agents are trusted with less: nothing of an operator's may be used for them unchecked. */
  readonly configuredBy: ConfiguredBy;
  /** The module's own settings. */
  readonly settings: Settings;
  /** Where the module is. */
  readonly place: { readonly edgeId: string /** Null for a module of an edge. */; readonly routeId: string | null };
  /** The module's own, when it has one; null where no traffic is served and only problems are looked for. */
  readonly runtime: ModuleRuntime | null;
}

export type ConfiguredBy = 'operator' | 'agent';

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
  /**
   * Headers that the upstream gets, after everything of the same name was taken from the client's. The same list, unchanged, for as
   * long as it says the same: it is checked and written once.
   */
  upstreamHeaders?(request: TrafficRequest): HeaderList;
  /** Changes a response on its way out; null leaves it as it is. */
  transform?(request: TrafficRequest, head: TrafficResponseHead): ResponseTransform | null;
  /** Where requests go, for the module that answers. */
  readonly backendId?: string;
  /** Cookies that it sets on every host of its edge, in lower case: no backend there may set them. */
  readonly ownCookieNames?: readonly string[];
  /** Paths under `/.postern/` that it serves on every host of its edge. */
  readonly ownPaths?: OwnPaths;
}

/** What a module serves itself, such as the way back from a login. */
export interface OwnPaths {
  serve(request: OwnPathRequest, site: OwnPathSite): OwnAnswer | Promise<OwnAnswer>;
}

export interface OwnPathRequest extends TrafficRequest {
  /** The body, or null when it is longer than `maxBytes`. */
  readBody(maxBytes: number): Promise<Buffer | null>;
}

/** The edge around a request for an own path. */
export interface OwnPathSite {
  /** Modules that serve own paths, of the routes whose earlier modules let this request pass. */
  readonly modules: readonly PreparedModule[];
  /** The module of this kind on the route that a path with query leads to. */
  moduleFor(target: string): { readonly found: PreparedModule | null } | { readonly refusal: Refusal };
}

export type OwnAnswer =
  | { readonly status: number; readonly headers: HeaderList; readonly body: string }
  | { readonly refusal: Refusal };

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
  /** Host and port as the client wrote them. */
  readonly authority: string;
  /** Path and query as they came. */
  readonly target: string;
  /** Protocol to switch to, such as `websocket`. */
  readonly switchTo: string | null;
  /** By what right it goes on, set by the module that gives a right which can end while the request runs. */
  permit: Permit | null;
  /** Address of the client, behind trusted proxies the one that they name. */
  readonly clientAddress: string;
  readonly clientCertificate: ClientCertificate | null;
  readonly nowMs: number;
  /** First value of a header of the client's. */
  header(name: string): string | undefined;
  /** All values of a header that is a list, joined by commas as if they had come in one line (RFC 9110 §5.3). */
  combinedHeader(name: string): string | undefined;
  /** All values of a header, line by line. */
  headerLines(name: string): readonly string[];
}

/** A right that can end while a request runs: a stream is cut within a second of its end. */
export interface Permit {
  /** Of the user whose right it is, for the access log and traffic events. */
  readonly userId: string;
  /** Name of the module that gave it. */
  readonly module: string;
  /** Moves when what is known of the user may have changed: then the other modules judge again. */
  readonly version: number;
  isHeld(nowMs: number): boolean;
  /** The right was used: a request began, or bytes went either way. */
  touch(nowMs: number): void;
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
  /** Its heading, in place of the status. */
  readonly title?: string;
  /** Stable word for metrics and log. */
  readonly reason: string;
  readonly headers?: HeaderList;
  /** For programs, beside the message. */
  readonly details?: JsonObject;
  /** For people: where to go on. */
  readonly action?: { readonly label: string; readonly href: string };
}

/** Begins the value of every cookie of ours, so that they can be kept from upstreams whatever their names are. */
export const OWN_COOKIE_MARK = 'pstn1.';

export interface TrafficResponseHead {
  readonly status: number;
  readonly headers: HeaderList;
  readonly bodyBytes: number | null;
  /** The body itself, where it is the same object for every request until the configuration changes: what is made of it may be kept. */
  readonly fixedBody?: Buffer;
}

export interface ResponseTransform {
  /** The head as it becomes. */
  readonly headers: HeaderList;
  /** Bytes go in, other bytes come out. Null when only the head changes and the body stays as it is. */
  readonly createStream: (() => Transform) | null;
  /** The same in one call, for bodies of known length that it is cheaper for: used when all of the body is there in time. */
  whole?(body: Buffer): Buffer;
  /** The trailers as they become; absent: as they are. */
  trailers?(trailers: HeaderList): HeaderList;
}
