import Type from 'typebox';
import { allPages } from '../../lib/all-pages.ts';
import type { JsonObject, JsonValue } from '../../lib/json.ts';
import { labelsProblem } from '../../lib/labels.ts';
import { reference, refSchema } from '../../lib/schema/annotations.ts';
import { bodyProblem } from '../../lib/schema/decode-body.ts';
import { mapOf } from '../../lib/schema/map-of.ts';
import { describedFields } from '../../resources/resource.ts';
import { defineBackend } from '../define-backend.ts';

const MAX_LABELS = 50;

/** Tunnels with matching labels. */
export const tunnelGroup = defineBackend({
  name: 'tunnel_group',
  idPrefix: 'bkdtg',
  title: 'a tunnel group backend',
  description: 'Balances over the tunnels that have all of its labels.',
  config: Type.Object({
    ...describedFields,
    labels: mapOf(Type.String(), {
      minProperties: 1,
      maxProperties: MAX_LABELS,
      description: 'Labels, 1 to 50, that a tunnel must all have to be a member, such as {"app": "shop"}.',
    }),
  }),
  live: {
    schema: {
      tunnels: reference(
        { kinds: ['tunnel'] },
        Type.Array(refSchema, { description: 'The tunnels that are members now.' }),
      ),
    },
    read: async (records, { store, clock, ref }) => {
      const tunnels =
        records.length === 0
          ? []
          : await allPages((query) => store.presence.list('tunnel', { ...query, nowMs: clock.nowMs() }));
      return new Map(
        records.map((record) => {
          const members = tunnels.filter((tunnel) =>
            hasLabels(tunnel.doc['labels'], record.doc['labels'] as JsonObject),
          );
          return [record.id, { tunnels: members.map((tunnel) => ({ ...ref(tunnel.id) })) }];
        }),
      );
    },
  },
  example: { labels: { app: 'shop' } },
  check: (config) => {
    const problem = labelsProblem(config.labels);
    return problem === null ? [] : [bodyProblem('labels', problem)];
  },
});

/** A tunnel matches when it has all the labels, with equal values. */
export function hasLabels(labels: JsonValue | undefined, wanted: JsonObject): boolean {
  if (labels === undefined || labels === null) return false;
  return Object.entries(wanted).every(
    ([name, value]) => Object.hasOwn(labels as object, name) && (labels as JsonObject)[name] === value,
  );
}
