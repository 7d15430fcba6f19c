import type { BackendBehaviour } from './target.ts';

/** Agents do not exist yet, so no tunnel is ever online. */
export const tunnelGroupBehaviour: BackendBehaviour = {
  kind: 'tunnel_group_backend',
  targets: () => [
    {
      kind: 'unreachable',
      reason: 'no_tunnel',
      error: {
        status: 503,
        code: 'ERR_POSTERN_NO_TUNNEL',
        message: 'No tunnel is online for this site right now. Whoever runs it has to start an agent.',
      },
    },
  ],
};
