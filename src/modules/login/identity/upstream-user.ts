import type { JsonObject } from '../../../lib/json.ts';
import type { Identity } from '../../contract/recognizes-requesters.ts';
import type { SentEmail } from './sent-email.ts';

/** The sender of a request, as the upstream sees it. */
export interface UpstreamUser {
  readonly kind: Identity['kind'];
  /** Id of the user, the service account or the guest link; the `sub` of a workload's token. */
  readonly id: string;
  readonly name: string;
  readonly email: SentEmail | null;
  /** Without `email`. */
  readonly claims: JsonObject;
  /** Where the request was sent: `https://host[:port]`, and the host alone. */
  readonly origin: string;
  readonly host: string;
  /** Id of the session or token. */
  readonly sessionId: string;
  /** The issuer, and the user's id there. */
  readonly provider: string;
  readonly subject: string;
}
