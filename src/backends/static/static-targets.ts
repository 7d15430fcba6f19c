import type { BackendSnapshot, TargetPorts } from '../backend-snapshot.ts';
import type { Target } from '../target.ts';

export function staticTargets(
  {
    config: { address, tls },
  }: BackendSnapshot<{ readonly address: string; readonly tls: { readonly enabled: boolean } }>,
  ports: TargetPorts,
): readonly Target[] {
  return [{ kind: 'upstream', upstream: ports.upstreamFor(address, tls.enabled), name: address }];
}
