import Type from 'typebox';
import { mapOf, reference, refSchema } from '../../kit/schema/annotations.ts';
import { bodyProblem } from '../../kit/schema/decode-body.ts';
import { hasLabels, labelsProblem } from '../../kit/text/labels.ts';
import { defineBackend } from '../backend.ts';

const MAX_LABELS = 50;

/** Tunnels with matching labels. */
export const tunnelGroup = defineBackend({
  name: 'tunnel_group',
  idPrefix: 'bkdtg',
  title: 'a tunnel group backend',
  readsPath: false,
  description: 'Balances requests over the tunnels that have all of its labels.',
  config: () =>
    Type.Object({
      labels: mapOf(Type.String(), {
        minProperties: 1,
        maxProperties: MAX_LABELS,
        description: 'The 1 to 50 labels of the group, such as {"app": "shop"}. A tunnel with all of them is a member.',
      }),
    }),
  live: {
    schema: {
      tunnels: reference(
        { kinds: ['tunnel'] },
        Type.Array(refSchema, { description: 'The current members of the group.' }),
      ),
    },
    read: async (groups, ports) => {
      const tunnels = groups.length === 0 ? [] : await ports.onlineTunnels();
      return new Map(
        groups.map(({ id, config }) => {
          const members = tunnels.filter((tunnel) => hasLabels(tunnel.labels, config.labels));
          return [id, { tunnels: members.map((tunnel) => ({ ...ports.ref(tunnel.id) })) }];
        }),
      );
    },
  },
  example: { labels: { app: 'shop' } },
  check: (config) => {
    const problem = labelsProblem(config.labels);
    return problem === null ? [] : [bodyProblem('labels', problem)];
  },
  // A tunnel may have the labels of both, unless they give one label two values.
  maySendToSame: (one, other) =>
    Object.entries(one.labels).every(
      ([name, value]) => !Object.hasOwn(other.labels, name) || other.labels[name] === value,
    ),
  targets: ({ config }, ports) => ports.tunnelsWith(config.labels),
});
