import type { ErrorAnswer } from '../edge/error-page.ts';
import type { TunnelTargets } from '../edge/tunnels/tunnel-targets.ts';
import type { JsonObject } from '../lib/json.ts';
import type { BackendSnapshot } from '../snapshot/edge-snapshot.ts';
import type { HeaderList, Upstream } from '../upstream/upstream.ts';

/** The destination of one attempt. */
export type Target =
  | { readonly kind: 'upstream'; readonly upstream: Upstream; readonly name: string }
  | { readonly kind: 'response'; readonly status: number; readonly headers: HeaderList; readonly body: Buffer }
  /** There is nothing to send to; counts as "cannot be reached". */
  | { readonly kind: 'unreachable'; readonly error: ErrorAnswer; readonly reason: string };

/** How a kind of backend finds its targets: one file per kind and a line in `registry.ts`. */
export interface BackendBehaviour {
  /** Kind of the backend's records. */
  readonly kind: string;
  /** Targets in the order of attempts; the next one only when one cannot be reached. */
  targets(backend: BackendSnapshot, ports: BackendPorts): readonly Target[];
}

export interface BackendPorts {
  upstreamFor(address: string, isTls: boolean): Upstream;
  /** A number from 0 up to but not including 1. */
  random(): number;
  readonly tunnels: TunnelTargets;
  /** Targets of a member backend. */
  targetsOf(backend: BackendSnapshot): readonly Target[];
}

export function configOf<Config>(backend: BackendSnapshot): Config {
  return backend.config as JsonObject as Config;
}
