import type { X509Certificate } from 'node:crypto';
import type { ErrorCode, ErrorRows } from '../../kit/errors.ts';
import type { HeaderList } from '../../kit/http/header-values.ts';
import type { JsonObject } from '../../kit/json.ts';
import type { LoginSession } from './login-store.ts';

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

/** A capability: tells who sends a request, by a login or by other means such as a token, and sets its permit. */
export interface RecognizesRequesters {
  /**
   * Recognizes a requester by other means than a login. Called just before the first login module. A pass without a
   * permit says that nobody was recognized.
   */
  identify?(request: TrafficRequest): Verdict | Promise<Verdict>;
  /**
   * For login modules, whose `judge` sets the permit: decides for `explain` as `judge` would if this person were logged
   * in here, whether or not they ever were.
   */
  assume?(request: TrafficRequest, person: AssumedPerson): Verdict | Promise<Verdict>;
}

/** What a login module declares. */
export interface DeclaresLogin {
  /** Whether it logs people in. A route has at most one such module. */
  readonly isLogin?: boolean;
}

/**
 * What a request tells about its requester. Written by the modules that recognize them, read by those that judge them.
 */
interface Requester {
  /** The permit under which the request runs, set by a module whose permit can end before the request does. */
  permit: Permit | null;
  /**
   * Set by a login module that admits a request without a login, as OPTIONS for CORS: modules that judge the requester
   * pass it too.
   */
  isExemptFromLogin: boolean;
}

/** A permit that can end while a request runs: a stream is cut within a second of its end. */
export interface Permit {
  /** Id of the permit's holder, for the access log and traffic events. */
  readonly userId: string;
  /** The permit's holder. Another object after every change, so that what was derived from it can be cached by it. */
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
  /** The last logins on the edge, newest first: they show what a login brings there. */
  readonly logins: readonly LoginSession[];
}

/** A capability, for modules of edges: requirements for connections. Read by the TLS layer. */
export interface RequiresTls {
  readonly tls?: TlsPolicy;
}

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

/** A capability: decides whether a request may pass. */
export interface Decides {
  /**
   * Called in registry order, and more than once for one request: for streams in flight when the configuration or the
   * requester changes, before paths that a later module serves, and by `explain` for requests that nobody sent. So the
   * call changes nothing that a visitor could notice. A module that does not decide access is asked only for new
   * requests and by `explain`: it neither cuts a stream nor stands before a path under `/.postern/`.
   */
  judge?(request: TrafficRequest): Verdict | Promise<Verdict>;
  /**
   * Called in place of `judge`, once for each request that a visitor sent to the route: counts, spends or computes what
   * the others only ask about. Needs a `judge`.
   */
  admit?(request: TrafficRequest): Verdict | Promise<Verdict>;
  /** For explanations: why it refuses the request, for an administrator. Absent: the visitor's text says it. */
  whyRefused?(request: TrafficRequest, refusal: Refusal): string;
  /**
   * The same once more, at the later place that the module declares in `judgesAgainAfter`; absent: it has no more to
   * say.
   */
  readonly later?: LaterDecision;
}

/** What a module decides at its second place, by what it knows there, such as who sends the request. */
export interface LaterDecision extends Required<Pick<Decides, 'judge'>>, Pick<Decides, 'admit'> {}

/** What a module that decides declares beside `decidesAccess`. */
export interface DeclaresDecisions {
  /**
   * The module after whose place in the order of traffic `later` is asked, whether or not the route uses that module.
   */
  readonly judgesAgainAfter?: string;
  /** Sentences for the reasons of its verdicts, for people who ask why; absent ones appear by their name alone. */
  readonly reasons?: Readonly<Record<string, string>>;
  /** Decisions about requests that pass, beside `allow`: see `Pass.decision`. */
  readonly otherDecisions?: readonly OtherDecision[];
  /** The codes of its refusals: rows of the errors page and the OpenAPI document, under their own heading. */
  readonly errors?: { readonly title: string; readonly rows: ErrorRows };
}

/** `allow_while_open`: as a probe, while others are refused. */
export type OtherDecision = 'allow_while_open';

/** Made once, not per request: a pass is on the path of every request. */
export type Verdict = Pass | Refusal | Answer;

export interface Pass {
  readonly isPass: true;
  /** Stable name of why it may pass, such as `logged_in`. */
  readonly reason: string;
  /** For explanations, where the sentence for the reason says too little. */
  readonly text?: string;
  /** For events, where `allow` says too little: one of `otherDecisions`. */
  readonly decision?: OtherDecision;
  readonly rule?: DecidingRule;
  /** A rehearsed rule would have refused the request. */
  readonly wouldRefuse?: { readonly reason: string; readonly rule: string | null };
}

export interface Refusal {
  readonly status: number;
  readonly code: ErrorCode;
  /** For the error page: the problem, and what the visitor can do. */
  readonly message: string;
  /** The page's heading, instead of the status. */
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

/**
 * A redirect: the module responds itself, and nothing is refused. Only for modules that do not decide access: a stream
 * in progress or a path under `/.postern/` cannot be redirected, so there an answer counts as a refusal.
 */
export interface Answer {
  readonly isAnswer: true;
  /** 3xx. */
  readonly status: number;
  /** Absolute URL, in visible ASCII. */
  readonly location: string;
  /** Stable value for metrics and log. */
  readonly reason: string;
  /** The configured rule, for people. */
  readonly ruleText: string;
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

export function isAnswer(verdict: Verdict): verdict is Answer {
  return (verdict as Partial<Answer>).isAnswer === true;
}
