import type { Permit } from '../../contract/recognizes-requesters.ts';
import type { TrafficRequest } from '../../contract/traffic-request.ts';
import type { SentIdentity } from '../../login/identity/upstream-identity.ts';
import type { UpstreamUser } from '../../login/identity/upstream-user.ts';

/** The permit of a program. One object per token: requests allocate nothing. */
export interface ProgramPermit extends Permit {
  /** What the upstream was last told about it on the request's host, renewed by `make`. */
  sentTo(request: TrafficRequest, make: (known: SentIdentity | null) => SentIdentity): SentIdentity;
  upstreamUser(): Omit<UpstreamUser, 'origin' | 'host'>;
}
