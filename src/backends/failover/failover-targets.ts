import { type BackendBehaviour, configOf } from '../target.ts';

/** Members in order; the pipeline tries the next one only when a member cannot be reached. */
export const failoverBehaviour: BackendBehaviour = {
  kind: 'failover_backend',
  targets: (backend, ports) => {
    const { backends } = configOf<{ backends: string[] }>(backend);
    return backends.flatMap((id) => {
      const member = backend.members.get(id);
      return member === undefined ? [] : ports.targetsOf(member);
    });
  },
};
