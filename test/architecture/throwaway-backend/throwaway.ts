import Type from 'typebox';
import { defineBackend } from '../../../src/backends/backend.ts';
import { errorTable } from '../../../src/kit/errors.ts';
import { idString, reference } from '../../../src/kit/schema/annotations.ts';
import { bodyProblem } from '../../../src/kit/schema/decode-body.ts';

const { rows } = errorTable({
  ERR_POSTERN_THROWAWAY: { status: 503, explanation: 'A throwaway backend has neither an address nor a fallback.' },
});

/** Uses every hook of the contract. `throwaway-backend.test.ts` copies this folder into a copy of `src/backends`. */
export const throwaway = defineBackend({
  name: 'throwaway',
  idPrefix: 'bkdta',
  title: 'a throwaway backend',
  readsPath: false,
  description: 'Sends requests to an address, or to its fallback.',
  config: (anyBackend) =>
    Type.Object({
      address: Type.String({ default: '', maxLength: 300, description: 'Where requests go, as host:port.' }),
      fallback: reference(
        { kinds: anyBackend },
        Type.Array(idString('Id of a backend.'), { default: [], maxItems: 1, description: 'Used when it is down.' }),
      ),
    }),
  example: { address: '10.0.0.5:3000', fallback: [] },
  check: ({ address }) => (address === 'nowhere' ? [bodyProblem('address', 'must not be "nowhere"')] : []),
  live: {
    schema: { tunnels_online: Type.Integer({ description: 'Tunnels that are online now.' }) },
    read: async (found, ports) => {
      const tunnels = await ports.onlineTunnels();
      return new Map(found.map(({ id }) => [id, { tunnels_online: tunnels.length }]));
    },
  },
  memberIds: ({ fallback }) => fallback,
  upstreamAddresses: ({ address }) => (address === '' ? [] : [{ address, isTls: false }]),
  targets: ({ config: { address }, members }, ports) => [
    ...(address === ''
      ? []
      : [{ kind: 'upstream' as const, upstream: ports.upstreamFor(address, false), name: address }]),
    ...[...members.values()].flatMap((member) => ports.targetsOf(member)),
    {
      kind: 'unreachable',
      reason: 'throwaway',
      error: { status: 503, code: 'ERR_POSTERN_THROWAWAY', message: 'There is nothing here.' },
    },
  ],
  errors: rows,
});
