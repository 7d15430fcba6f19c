// Generated from the schemas of src/control/resources and src/modules by "npm run generate". Do not edit.
import type { Answer } from '../answer.ts';
import type { Ref } from '../ref.ts';
import type { RequestOptions } from '../request-options.ts';
import { ResourceClient } from '../resource-client.ts';

export interface ExplanationRequestAnswer {
  /** The edge, or the endpoint of an agent; null if none has the host. */
  readonly edge: Ref | null;
  /** The route; null if none matches, and for the endpoint of an agent. */
  readonly route: Ref | null;
  /** Path of the route; null without one. */
  readonly match: string | null;
  /** The other routes of the edge. */
  readonly candidates: readonly {
    /** Another route of the edge. */
    readonly route: Ref;
    /** Its path. */
    readonly match: string;
    /** Why it does not serve the request. */
    readonly why_not: string;
  }[];
  /** What each module decides, in the order in which they are asked. */
  readonly decisions: readonly {
    /** The module; "edge" or "backend" for other parts. */
    readonly module: string;
    /** What it decides; answer: it redirects the request; skipped: it is not asked. */
    readonly decision: 'pass' | 'refuse' | 'answer' | 'skipped';
    /** Stable name of the reason, as in the access log and in metrics. */
    readonly reason: string;
    /** The configured rule that decides. */
    readonly rule?: string | undefined;
    /** The reason for people. */
    readonly text: string;
  }[];
  /** What the client gets. */
  readonly outcome: {
    /** Status of the response. Absent: an upstream decides it, or there is no response. */
    readonly status?: number | undefined;
    /** Error code, if the edge refuses the request. */
    readonly error_code?: string | undefined;
    /** Where a redirect leads. */
    readonly location?: string | undefined;
    /** Everything that may get the request: weights and load decide. */
    readonly targets: readonly {
      /** Address of an upstream, or id of a tunnel. */
      readonly name: string;
      /** response: the edge answers itself. */
      readonly kind: 'upstream' | 'tunnel' | 'response';
      /** Node that the agent is connected to, if it is another one. */
      readonly node?: string | undefined;
      /** Where the agent forwards to. */
      readonly forwards_to?: string | undefined;
    }[];
    /** Node that explained it: others may have other tunnels. */
    readonly node?: string | undefined;
  };
  /** How the request changes on its way to the upstream; null if nothing is forwarded. */
  readonly upstream_request: {
    /** Headers that the upstream gets beside those of the client. Assertions appear as unsigned claims. */
    readonly headers_added: Readonly<Record<string, string>>;
    /** Client headers that the upstream does not get. */
    readonly headers_removed: readonly string[];
    /** Path and query that the upstream gets, if they change. */
    readonly target?: string | undefined;
  } | null;
}

export interface ExplanationRequest {
  /** URL of the request, http or https. Its path is used as it is written. */
  readonly url: string;
  /** Method, in upper case. Default: GET. */
  readonly method?: string | undefined;
  /** Request headers: name and list of values. Cookies and tokens count as they do in traffic. */
  readonly headers?: Readonly<Record<string, string | readonly string[]>> | undefined;
  /** IP address of the client, or of the proxy in front of it. Default: 127.0.0.1. */
  readonly address?: string | undefined;
  /** Client certificate in PEM, followed by its intermediates: at most 16 certificates. */
  readonly client_certificate_pem?: string | undefined;
  /** A person who is logged in on the route, whether or not they ever were. */
  readonly as?:
    | {
        /** Email address; it counts as verified. May be empty. */
        readonly email: string;
        /** Claims of the provider. */
        readonly claims?: Readonly<Record<string, unknown>> | undefined;
      }
    | null
    | undefined;
}

/** What the edge would do with a request, and why. */
export class ExplainClient extends ResourceClient {
  /**
   * Explain a request. Runs a request that nobody has sent through the code of traffic: which route it takes, what
   * each module decides and why, which targets it may get. Nothing is sent, fetched, stored, counted or signed.
   * The key needs the scopes of all that this shows: edges, backends, IP policies, certificate authorities,
   * service accounts, tunnels, nodes and logins (app:read). The claims of a person in "as" are those of the
   * person's last login there; otherwise described ones count as far as the last logins brought such claims.
   */
  request(body: ExplanationRequest, options?: RequestOptions): Promise<Answer<ExplanationRequestAnswer>> {
    return this.call({ method: 'POST', path: '/explain', body }, options);
  }
}
