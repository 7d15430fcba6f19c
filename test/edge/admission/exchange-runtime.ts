import type { EdgeRuntime } from '../../../src/proxy/edge/edge-runtime.ts';
import type { EdgeSnapshot } from '../../../src/proxy/snapshot/edge-snapshot.ts';

/**
 * What an exchange needs of its edge, without sockets: every request is for the current edge, and goes to `upstream`.
 */
export function exchangeRuntime(currentEdge: () => EdgeSnapshot, upstream: object): EdgeRuntime {
  return {
    clock: { nowMs: () => 0 },
    forwarding: { dropped: [] },
    keepsDecisions: () => false,
    newRequestId: () => 'rq_1',
    clientAddress: () => '192.0.2.1',
    trustedChain: () => null,
    behind: null,
    findEdge: currentEdge,
    targetsOf: () => [{ kind: 'upstream', name: 'u', upstream }],
    begin() {},
    answering() {},
    finish() {},
  } as unknown as EdgeRuntime;
}
