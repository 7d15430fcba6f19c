import type { X509Certificate } from 'node:crypto';
import type { Transform } from 'node:stream';
import type { ErrorCode } from '../lib/errors.ts';
import type { HeaderList } from '../lib/http/header-list.ts';
import type { JsonObject } from '../lib/json.ts';
import type { ModuleRuntime } from './module-runtime.ts';

/** Data that a module may read while it is being prepared. Reading a record makes the route depend on it. */
export interface PreparePorts<Settings = Readonly<Record<string, unknown>>> {
  /** A configuration record's document, with its secrets. */
  record(kind: string, id: string): JsonObject | undefined;
  /** Documents of a record's children. */
  children(kind: string, parentId: string): readonly ChildRecord[];
  /** Who configured the module. Agents are trusted less: nothing of an operator's may be used for them unchecked. */
  readonly configuredBy: ConfiguredBy;
  /** The module's own settings. */
  readonly settings: Settings;
  /** Where the module is attached. */
  readonly place: { readonly edgeId: string /** Null for a module of an edge. */; readonly routeId: string | null };
  /** The module's own, if any; null where no traffic is served and only problems are collected. */
  readonly runtime: ModuleRuntime | null;
}

export interface ChildRecord {
  readonly id: string;
  readonly doc: JsonObject;
}

export type ConfiguredBy = 'operator' | 'agent';

export type Preparation =
  | { readonly ok: true; readonly prepared: PreparedModule }
  | {
      readonly ok: false;
      readonly problem: PreparationProblem;
      /** Handshake requirements that still apply, for edge modules. */
      readonly tls?: TlsPolicy;
    };

export interface PreparationProblem {
  readonly code: ErrorCode;
  /** What is missing or wrong, and what to do; shown to the operator and, without details, to the client. */
  readonly message: string;
}

/** A module prepared for traffic. Each hook is optional, and absent hooks cost nothing. */
export interface PreparedModule {
  /** Connection requirements: read by the TLS layer, for edge modules. */
  readonly tls?: TlsPolicy;
  /**
   * Recognizes who sends the request by other means than a login, such as a token, and sets its permit. Called just
   * before the first login module. A pass without a permit says that nobody was recognized.
   */
  identify?(request: TrafficRequest): Verdict | Promise<Verdict>;
  /**
   * Decides whether this request may pass. The decision is repeated for streams in flight when the configuration
   * changes, so it depends on nothing but the request.
   */
  judge?(request: TrafficRequest): Verdict | Promise<Verdict>;
  /**
   * For explanations: decides as `judge` would if this person were logged in here, whether or not they ever were. For
   * login modules.
   */
  assume?(request: TrafficRequest, person: AssumedPerson): Verdict | Promise<Verdict>;
  /**
   * Headers for the upstream, after client headers of the same names were removed. Return the same list as long as its
   * content is the same: it is checked and serialized once.
   */
  upstreamHeaders?(request: TrafficRequest): HeaderList;
  /**
   * Changes a request on its way to the upstream; null forwards it unchanged. Called once per request, in registry
   * order, after every module has admitted it. `headers` are the client's end-to-end headers with the changes of
   * earlier modules.
   */
  transformRequest?(
    request: TrafficRequest,
    headers: HeaderList,
  ): RequestTransform | null | Promise<RequestTransform | null>;
  /**
   * Changes a response on its way out; null leaves it unchanged. A response passes the modules in reverse registry
   * order: the last module is nearest to the upstream. Each module gets the head that the one before has returned.
   */
  transform?(request: TrafficRequest, head: TrafficResponseHead): ResponseTransform | null;
  /** The backend of requests, for the module that selects it. */
  readonly backendId?: string;
  /** Cookies that it sets on every host of its edge, in lower case: no backend there may set them. */
  readonly ownCookieNames?: readonly string[];
  /** Paths under `/.postern/` that it serves on every host of its edge. */
  readonly ownPaths?: OwnPaths;
}

/** Paths that a module serves itself, such as the callback of a login. */
export interface OwnPaths {
  serve(request: OwnPathRequest, site: OwnPathSite): OwnAnswer | Promise<OwnAnswer>;
}

export interface OwnPathRequest extends TrafficRequest {
  /** The body, or null when it is longer than `maxBytes`. */
  readBody(maxBytes: number): Promise<Buffer | null>;
}

/** The edge around a request for an own path. */
export interface OwnPathSite {
  /** Modules that serve own paths, of the routes whose earlier modules admitted this request. */
  readonly modules: readonly PreparedModule[];
  /** The module of this kind on the route of a path with query. */
  moduleFor(target: string): { readonly found: PreparedModule | null } | { readonly refusal: Refusal };
}

export type OwnAnswer =
  | { readonly status: number; readonly headers: HeaderList; readonly body: string }
  | { readonly refusal: Refusal };

export interface TlsPolicy {
  readonly minVersion?: 'TLSv1.2' | 'TLSv1.3';
  /** PEM of the authorities for client certificates; if present, a certificate is required. Empty: none is accepted. */
  readonly clientAuthorities?: readonly string[];
  /** Further check of client certificates that these authorities issued; absent: none. */
  readonly revocation?: RevocationPolicy;
}

/** Which certificates were revoked. Applied to handshakes, and to open connections whenever its version changes. */
export interface RevocationPolicy {
  /** Differs when a verdict may differ. */
  readonly version: string;
  judge(certificate: ClientCertificate, presented: PresentedCertificates, nowMs: number): RevocationVerdict;
}

/** All certificates that the client sent, its own first; empty once the connection is closed. */
export type PresentedCertificates = () => readonly X509Certificate[];

export interface RevocationVerdict {
  readonly refusal: {
    /** Stable values for metrics and log. */
    readonly reason: 'client_certificate_revoked' | 'client_certificate_revocation_unknown';
    readonly message: string;
  } | null;
  /** Why an accepted certificate could not be checked; null: it was. */
  readonly unchecked: string | null;
}

/** A request as modules see it. */
export interface TrafficRequest {
  readonly id: string;
  readonly method: string;
  /** As forwarded, without the query. */
  readonly path: string;
  readonly host: string;
  /** Host and port as the client sent them. */
  readonly authority: string;
  /** Path and query as received. */
  readonly target: string;
  /** Protocol to switch to, such as `websocket`. */
  readonly switchTo: string | null;
  /** The permit under which the request runs, set by a module whose permit can end before the request does. */
  permit: Permit | null;
  /**
   * Set by a login module that admits a request without a login, as OPTIONS for CORS: modules that judge the requester
   * pass it too.
   */
  isExemptFromLogin: boolean;
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

/** A permit that can end while a request runs: a stream is cut within a second of its end. */
export interface Permit {
  /** Id of the permit's holder, for the access log and traffic events. */
  readonly userId: string;
  /** Its holder. Another object after every change, so that what was derived from it can be cached by it. */
  readonly identity: Identity;
  /** Name of the module that granted it. */
  readonly module: string;
  /** Changes when the user's data may have changed: then the other modules re-evaluate the request. */
  readonly version: number;
  isHeld(nowMs: number): boolean;
  /** The permit was used: a request started, or bytes were transferred. */
  touch(nowMs: number): void;
}

/** Who sends a request, as login modules and tokens tell it: the input of access rules. */
export interface Identity {
  readonly kind: 'user' | 'service_account' | 'workload' | 'guest';
  /** Id of the user, the service account or the guest link; the `sub` of a workload's token. */
  readonly id: string;
  /** Empty when there is none. As the provider wrote it. */
  readonly email: string;
  readonly isEmailVerified: boolean;
  /** For people; may be empty. */
  readonly name: string;
  readonly claims: JsonObject;
  /** Claims that were too large to keep; `*` stands for any name. A rule about one of them cannot be evaluated. */
  readonly droppedClaims: readonly string[];
}

/** Somebody whom an explanation takes for logged in. */
export interface AssumedPerson {
  readonly email: string;
  /** Beside the email address, which counts as verified unless `email_verified` says otherwise. */
  readonly claims: JsonObject;
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

/** Made once, not per request: a pass is on the path of every request. */
export type Verdict = Pass | Refusal;

export interface Pass {
  readonly isPass: true;
  /** Stable name of why it may pass, such as `logged_in`. */
  readonly reason: string;
  readonly rule?: DecidingRule;
  /** A rehearsed rule would have refused the request. */
  readonly wouldRefuse?: { readonly reason: string; readonly rule: string | null };
}

/** The configured rule that decided. */
export interface DecidingRule {
  /** Kind and id of its record. */
  readonly kind: string;
  readonly id: string;
  /** The record that it belongs to, such as a policy. */
  readonly parent: string;
  /** What it says, such as `deny 10.0.0.0/8`. */
  readonly text: string;
}

/** A promise is not a pass: nobody has decided yet. */
export function isPass(verdict: Verdict | Promise<Verdict>): verdict is Pass {
  return (verdict as Partial<Pass>).isPass === true;
}

export interface Refusal {
  readonly status: number;
  readonly code: ErrorCode;
  /** For the error page: the problem, and what the visitor can do. */
  readonly message: string;
  /** Its heading, instead of the status. */
  readonly title?: string;
  /** Stable value for metrics and log. */
  readonly reason: string;
  /** The rule that refused, where there is one. */
  readonly rule?: DecidingRule;
  /** For access rules: the name of the rule that refused, such as `deny[0]`; null when none let the requester in. */
  readonly accessRule?: string | null;
  readonly headers?: HeaderList;
  /** For programs, beside the message. */
  readonly details?: JsonObject;
  /** For people: a link to continue with. */
  readonly action?: { readonly label: string; readonly href: string };
}

/** A change of headers, a rejection, or a request to read the body first. */
export type RequestTransform = HeaderChange | { readonly refusal: Refusal } | BodyDemand;

/**
 * Names are in lower case. A module that names hop-by-hop or framing headers, or a name that belongs to the edge or to
 * another module, has a bug: the request gets 500 and is not forwarded.
 */
export interface HeaderChange {
  /** Names to remove. */
  readonly remove?: readonly string[];
  /** Replaces every line of the same name. */
  readonly set?: HeaderList;
  /** Added after the lines of the same name. */
  readonly add?: HeaderList;
}

/** Holds a request back until its whole body is in memory. The bytes are then forwarded unchanged. */
export interface BodyDemand {
  readonly maxBytes: number;
  /** Whether a longer body is rejected with 413, or forwarded, with null for `read`. Absent: rejected. */
  readonly whenLonger?: 'refuse' | 'forward';
  /** Empty for a request without a body. */
  read(body: Buffer | null): BodyVerdict | Promise<BodyVerdict>;
}

export type BodyVerdict = HeaderChange | { readonly refusal: Refusal } | null;

/** Prefix of the value of every own cookie, so that they are kept from upstreams under any name. */
export const OWN_COOKIE_MARK = 'pstn1.';

export interface TrafficResponseHead {
  readonly status: number;
  readonly headers: HeaderList;
  /** 0 for a response without a body (HEAD, 204, 304). Null when unknown: also after a module has changed the body. */
  readonly bodyBytes: number | null;
  /**
   * The body itself, where it is the same object for every request until the configuration changes: derived data may be
   * cached.
   */
  readonly fixedBody?: Buffer;
}

export interface ResponseTransform {
  /** The changed head, without framing: the edge computes that. */
  readonly headers: HeaderList;
  /**
   * Transforms the body. Null when only the head changes. Not called for a response without a body (HEAD, 204, 304);
   * its head then announces no length.
   */
  readonly createStream: (() => Transform) | null;
  /**
   * The same in one call, for bodies of known length where that is cheaper: used when the whole body arrives in time
   * and every module that changes the body offers it.
   */
  whole?(body: Buffer): Buffer;
  /** The changed trailers; absent: unchanged. Trailers are sent only after a head that announces no length. */
  trailers?(trailers: HeaderList): HeaderList;
}
