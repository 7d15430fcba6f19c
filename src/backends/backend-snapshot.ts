import type { JsonObject } from '../lib/json.ts';
import type { Upstream } from '../upstream/upstream.ts';
import type { Target } from './target.ts';

/** A backend with everything that it refers to. The object's identity represents its version. */
export interface BackendSnapshot<Config = JsonObject> {
  readonly kind: string;
  readonly id: string;
  readonly revision: number;
  readonly config: Config;
  /** Member backends by id; a missing one is absent. */
  readonly members: ReadonlyMap<string, BackendSnapshot>;
}

export interface UpstreamAddress {
  /** `host:port`. */
  readonly address: string;
  readonly isTls: boolean;
}

/** Lookups that a kind of backend uses to find its targets. */
export interface TargetPorts {
  upstreamFor(address: string, isTls: boolean): Upstream;
  /** Online tunnels with all of these labels, least busy first; an unreachable target when there is none. */
  tunnelsWith(labels: Readonly<Record<string, string>>): readonly Target[];
  /** A number from 0 up to but not including 1. */
  random(): number;
  /** Targets of a backend that this one names. */
  targetsOf(backend: BackendSnapshot): readonly Target[];
}

/** The single tunnel behind an endpoint. No record has this kind, so it has no folder here. */
export const TUNNEL_BACKEND_KIND = 'tunnel';
