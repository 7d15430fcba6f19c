import { splitAddress } from '../lib/net/split-address.ts';
import type { ForbiddenUpstream } from './facts.ts';

/** Requests to such an upstream get 502, with the reason `forbidden_address`. */
export function forbiddenLine(upstream: string): string {
  return `the edge may not connect to ${splitAddress(upstream).host}`;
}

/** Remedies, by the reason. */
export const FORBIDDEN_ADVICE: Readonly<Record<ForbiddenUpstream, string>> = {
  own_api: 'it is the API of this server: set api_behind_edge to publish it, or change the address of the backend',
  own_listener: 'this server listens there itself: change the address of the backend',
  metadata: 'add it to upstream_allow_cidrs, or change the address of the backend',
};
