import { type BackendBehaviour, configOf } from '../target.ts';

export const staticBehaviour: BackendBehaviour = {
  kind: 'static_backend',
  targets: (backend, ports) => {
    const { address, tls } = configOf<{ address: string; tls: { enabled: boolean } }>(backend);
    return [{ kind: 'upstream', upstream: ports.upstreamFor(address, tls.enabled), name: address }];
  },
};
